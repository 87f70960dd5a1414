#include "tests/simulated_gpu/driver/state/connection.h"

#include <chrono>
#include <vector>

#include "tests/simulated_gpu/driver/state/settings.h"

namespace pace::simulated_gpu {

namespace {

// Cancelling wakes no thread that waits here.
constexpr std::chrono::milliseconds kLookForCancel{20};

struct Connections {
    std::mutex mutex;
    std::vector<std::shared_ptr<Connection>> all;
    size_t taken = 0;
};

}  // namespace

std::shared_ptr<Connection> Connection::next() {
    const unsigned count = settings().connections;
    if (count == 0) return nullptr;
    // The object is never destroyed, because the threads of streams may outlive main.
    static Connections& connections = *new Connections;
    const std::scoped_lock lock(connections.mutex);
    const size_t index = connections.taken++ % count;
    if (index == connections.all.size()) connections.all.push_back(std::make_shared<Connection>());
    return connections.all[index];
}

uint64_t Connection::enter() {
    const std::scoped_lock lock(mutex_);
    places_.push_back(++entered_);
    return entered_;
}

bool Connection::wait_for_turn(uint64_t place, const std::atomic<bool>& cancelled) {
    std::unique_lock lock(mutex_);
    while (places_.front() != place && !cancelled) changed_.wait_for(lock, kLookForCancel);
    return !cancelled;
}

void Connection::leave(uint64_t place) {
    const std::scoped_lock lock(mutex_);
    std::erase(places_, place);
    changed_.notify_all();
}

}  // namespace pace::simulated_gpu
