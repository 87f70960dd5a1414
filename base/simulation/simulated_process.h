// SimulatedProcesses: while one exists, it is asked where a process on either side of the client
// plane waits, what memory it maps, and at each step after which its death makes a difference.
//
// For tests, one at a time. One thread runs at any time. Without one, a step costs a look at a
// pointer.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <span>

#include "base/clock.h"

namespace pace::base {

class SimulatedProcesses;
namespace detail {
// Null: there is no simulation.
inline std::atomic<SimulatedProcesses*> simulated_processes{nullptr};
}  // namespace detail

class SimulatedProcesses {
  public:
    SimulatedProcesses() { detail::simulated_processes = this; }
    virtual ~SimulatedProcesses() { detail::simulated_processes = nullptr; }
    SimulatedProcesses(const SimulatedProcesses&) = delete;
    SimulatedProcesses& operator=(const SimulatedProcesses&) = delete;

    // As ppoll().
    virtual int wait(std::span<pollfd> watched, TimePoint deadline) = 0;
    // The process has come to this step. `packet` is the packet that the step is about, if there
    // is one. In a trainer's process an exception ends the process here.
    virtual void passes(const char* step, std::span<const std::byte> packet) = 0;
    // Shared memory was mapped here, and is about to be unmapped.
    virtual void maps(std::byte* data, size_t bytes, int fd) = 0;
    virtual void unmaps(std::byte* data) = 0;
};

inline SimulatedProcesses* simulated_processes() {
    return detail::simulated_processes.load(std::memory_order_relaxed);
}

// Names a step of the client plane.
inline void pass(const char* step, std::span<const std::byte> packet = {}) {
    if (SimulatedProcesses* const simulated = simulated_processes())
        simulated->passes(step, packet);
}

// Waits until one of the descriptors is ready or the deadline has passed. Returns what ppoll()
// returns.
int wait_on(std::span<pollfd> watched, TimePoint deadline);

}  // namespace pace::base
