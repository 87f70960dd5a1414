#include "libclient/link/ready_signal.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace pace::client {

using base::make_errno_error;
using base::Result;
using base::UniqueFd;

namespace {

Result<> add(int set, int fd, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0)
        return make_errno_error(errno, "make the session pollable");
    return {};
}

}  // namespace

Result<std::unique_ptr<ReadySignal>> ReadySignal::create() {
    UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
    UniqueFd ended(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll.valid() || !ended.valid())
        return make_errno_error(errno, "make the session pollable");
    PACE_TRY(add(epoll.get(), ended.get(), EPOLLIN));
    return std::unique_ptr<ReadySignal>(new ReadySignal(std::move(epoll), std::move(ended)));
}

Result<> ReadySignal::attach(int bell, int socket) {
    PACE_TRY(add(epoll_.get(), bell, EPOLLIN));
    // Watches for hang-ups only. Answers to calls do not concern the trainer.
    return add(epoll_.get(), socket, EPOLLRDHUP);
}

void ReadySignal::detach(int bell, int socket) {
    (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, bell, nullptr);
    (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
}

void ReadySignal::set_ended(bool any) {
    if (any == any_ended_) return;
    any_ended_ = any;
    uint64_t count = 1;
    if (any) (void)!write(ended_.get(), &count, sizeof(count));
    if (!any) (void)!read(ended_.get(), &count, sizeof(count));
}

}  // namespace pace::client
