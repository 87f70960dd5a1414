// Event: how often the event has been recorded in streams, and which of these records have been
// reached.
//
// A record is a number. Recording takes the next number and gives the stream a piece of work that
// marks the record as reached. A wait is for the number that was the last when the wait was
// requested. A later record, maybe in another stream, does not end the wait sooner. If the event is
// for several processes, its state is in memory that these processes share.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "tests/simulated_gpu/driver/contexts.h"
#include "tests/simulated_gpu/driver/state/shared_file.h"

namespace pace::simulated_gpu {

class Event {
  public:
    // Returns null if there is no memory left.
    static std::shared_ptr<Event> create(Context& context, bool interprocess);
    // Opens the event of another process in `context`. Returns null if that event is gone, or the
    // ticket is no event's.
    static std::shared_ptr<Event> open(Context& context, const Ticket& ticket);

    explicit Event(Context& context) : context_(context) {}
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    Context& context() const { return context_; }
    // Returns nothing if the event is for this process alone.
    std::optional<Ticket> ticket() const;

    // Returns the number of a new record, which is not complete.
    uint32_t record();
    uint32_t last_record() const;
    // Wakes all waiters for the record in any process.
    void complete(uint32_t record);
    // Returns true at once if nothing was ever recorded.
    bool is_complete(uint32_t record);
    // Blocks until the record is complete, or `cancelled` (may be null) is set.
    void wait(uint32_t record, const std::atomic<bool>* cancelled);

  private:
    // The number of records whose ends are remembered one by one. Older records count as reached.
    // The number is more than streams hold in any test.
    static constexpr uint32_t kRemembered = 512;

    // The upper half of `last` is the process that has recorded last. The lower half is the number
    // of that record. `reached` has each of the last records at its number's place once the record
    // is reached. `changes` is a futex that counts. Each of these is one word, so that a process
    // may die at any time.
    struct State {
        std::atomic<uint64_t> last;
        std::atomic<uint32_t> changes;
        std::array<std::atomic<uint32_t>, kRemembered> reached;
    };

    bool map(std::optional<SharedFile> file);

    Context& context_;
    std::optional<SharedFile> file_;
    State* state_ = nullptr;
};

}  // namespace pace::simulated_gpu
