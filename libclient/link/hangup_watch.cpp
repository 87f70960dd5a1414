#include "libclient/link/hangup_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/attempt.h"
#include "base/threads/begin_thread.h"
#include "base/threads/without_signals.h"

namespace pace::client {

using base::Result;
using base::UniqueFd;

Result<std::unique_ptr<HangupWatch>> HangupWatch::start(int socket, std::function<void()> gone) {
    UniqueFd own(fcntl(socket, F_DUPFD_CLOEXEC, 0));
    UniqueFd stop(eventfd(0, EFD_CLOEXEC));
    if (!own.valid() || !stop.valid())
        return base::make_errno_error(errno, "watch the connection to the daemon");
    std::unique_ptr<HangupWatch> watch(new HangupWatch(std::move(own), std::move(stop)));
    const base::WithoutSignals scope;  // the trainer's signals are for its own threads
    const bool has_begun = base::attempt([&] {
        watch->thread_ =
            base::begin_thread([watch = watch.get(), gone = std::move(gone)] { watch->run(gone); });
    });
    if (!has_begun) return base::out_of_memory();
    return watch;
}

HangupWatch::HangupWatch(UniqueFd socket, UniqueFd stop)
    : process_(getpid()), socket_(std::move(socket)), stop_(std::move(stop)) {}

HangupWatch::~HangupWatch() {
    if (!thread_.joinable()) return;
    if (getpid() != process_) {
        thread_.detach();
        return;
    }
    const uint64_t one = 1;
    while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
}

// The kernel tells of a hang-up whether or not it is asked.
void HangupWatch::run(const std::function<void()>& gone) const {
    pthread_setname_np(pthread_self(), "pace-hangup");
    std::array<pollfd, 2> watched{{{socket_.get(), 0, 0}, {stop_.get(), POLLIN, 0}}};
    while (poll(watched.data(), watched.size(), -1) <= 0) {
    }
    if (watched[0].revents != 0) gone();
}

}  // namespace pace::client
