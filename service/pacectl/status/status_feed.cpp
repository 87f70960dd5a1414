#include "service/pacectl/status/status_feed.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "service/pacectl/console/output.h"

namespace pace::pacectl {

struct StatusFeed::Shared {
    client::Endpoint endpoint;
    base::UniqueFd event;
    std::mutex mutex;
    bool is_asked = false;                     // guarded
    std::optional<base::Result<Json>> answer;  // guarded

    void answer_with(base::Result<Json> document) {
        {
            const std::lock_guard lock(mutex);
            answer = std::move(document);
            is_asked = false;
        }
        const uint64_t one = 1;
        const ssize_t ignored = write(event.get(), &one, sizeof(one));
        static_cast<void>(ignored);  // fails only if full: then it is readable already
    }
};

base::Result<StatusFeed> StatusFeed::open(const client::Endpoint& endpoint) {
    auto shared = std::make_shared<Shared>();
    shared->endpoint = endpoint;
    shared->event = base::UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!shared->event.valid()) return base::make_errno_error(errno, "create an event descriptor");
    return StatusFeed(std::move(shared));
}

void StatusFeed::ask() {
    {
        const std::lock_guard lock(shared_->mutex);
        if (shared_->is_asked) return;
        shared_->is_asked = true;
    }
    try {
        std::thread([shared = shared_] {
            shared->answer_with(fetch_document(shared->endpoint, "status"));
        }).detach();
    } catch (const std::system_error& error) {
        shared_->answer_with(base::make_error(
            base::ErrorKind::limit, "cannot start a thread: {}; raise ulimit -u", error.what()));
    }
}

int StatusFeed::fd() const {
    return shared_->event.get();
}

std::optional<base::Result<Json>> StatusFeed::take() {
    uint64_t answers = 0;
    const ssize_t ignored = read(shared_->event.get(), &answers, sizeof(answers));
    static_cast<void>(ignored);
    const std::lock_guard lock(shared_->mutex);
    return std::exchange(shared_->answer, std::nullopt);
}

}  // namespace pace::pacectl
