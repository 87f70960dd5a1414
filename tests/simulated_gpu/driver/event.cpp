#include "tests/simulated_gpu/driver/event.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <utility>

#include "base/unique_fd.h"
#include "tests/simulated_gpu/driver/state/settings.h"

namespace pace::simulated_gpu {

namespace {

// The room for an Event's State.
constexpr size_t kStateBytes = 4096;

// The interval at which a wait checks two things: whether it is cancelled, and whether the process
// that is to end it lives. The value is a guess, and short for a person.
constexpr timespec kLookAgain{0, 20'000'000};

// The numbers wrap around.
bool is_at_least(uint32_t completed, uint32_t record) {
    return static_cast<int32_t>(completed - record) >= 0;
}

uint64_t joined(pid_t process, uint32_t record) {
    return (static_cast<uint64_t>(process) << 32U) | record;
}

// A process that has died but was not reaped counts as dead as well.
bool is_dead(pid_t process) {
    if (process == getpid()) return false;
    const base::UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    if (!handle.valid()) return errno == ESRCH;
    pollfd ended{handle.get(), POLLIN, 0};
    return poll(&ended, 1, 0) > 0;
}

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout,
                   nullptr, 0);
}

}  // namespace

std::shared_ptr<Event> Event::create(Context& context, bool interprocess) {
    auto event = std::make_shared<Event>(context);
    std::optional<SharedFile> file;
    if (interprocess) {
        file = SharedFile::create(SharedFile::Kind::event, number_on_machine(context.ordinal()),
                                  kStateBytes);
        if (!file) return nullptr;
    }
    return event->map(std::move(file)) ? event : nullptr;
}

std::shared_ptr<Event> Event::open(Context& context, const Ticket& ticket) {
    auto file = SharedFile::of_ticket(SharedFile::Kind::event, ticket);
    if (!file || file->bytes() != kStateBytes) return nullptr;
    auto event = std::make_shared<Event>(context);
    return event->map(std::move(file)) ? event : nullptr;
}

// Zeros are a State that was never recorded.
bool Event::map(std::optional<SharedFile> file) {
    static_assert(sizeof(State) <= kStateBytes);
    file_ = std::move(file);
    const int flags = MAP_SHARED | (file_ ? 0 : MAP_ANONYMOUS);
    void* const address = mmap(nullptr, kStateBytes, PROT_READ | PROT_WRITE, flags,
                               file_ ? file_->descriptor() : -1, 0);
    if (address == MAP_FAILED) return false;
    state_ = static_cast<State*>(address);
    return true;
}

Event::~Event() {
    if (state_ != nullptr) munmap(state_, kStateBytes);
}

std::optional<Ticket> Event::ticket() const {
    if (!file_) return std::nullopt;
    return file_->ticket();
}

uint32_t Event::record() {
    uint64_t last = state_->last;
    uint32_t record = 0;
    do {
        record = static_cast<uint32_t>(last) + 1;
    } while (!state_->last.compare_exchange_weak(last, joined(getpid(), record)));
    return record;
}

uint32_t Event::last_record() const {
    return static_cast<uint32_t>(state_->last);
}

void Event::complete(uint32_t record) {
    std::atomic<uint32_t>& place = state_->reached[record % kRemembered];
    uint32_t reached = place;
    while (!is_at_least(reached, record))
        if (place.compare_exchange_weak(reached, record)) break;
    ++state_->changes;
    (void)futex(state_->changes, FUTEX_WAKE, INT_MAX, nullptr);
}

// The records of a dead process count as complete, unless the settings say otherwise. The streams
// of its context are gone, so no process will ever complete these records. The function takes the
// process that recorded last for the recorder of all records. This is true of an event that only
// one process records.
bool Event::is_complete(uint32_t record) {
    if (record == 0 || is_at_least(state_->reached[record % kRemembered], record)) return true;
    const auto recorder = static_cast<pid_t>(state_->last >> 32U);
    if (settings().dead_events || !is_dead(recorder)) return false;
    complete(record);
    return true;
}

void Event::wait(uint32_t record, const std::atomic<bool>* cancelled) {
    while (cancelled == nullptr || !*cancelled) {
        const uint32_t changes = state_->changes;
        if (is_complete(record)) return;
        (void)futex(state_->changes, FUTEX_WAIT, changes, &kLookAgain);
    }
}

}  // namespace pace::simulated_gpu
