// Event: how often it has been recorded in streams, and which of these records have been reached.
//
// A record is a number. Recording takes the next one and leaves the stream a piece of work that says so when it is reached; a wait is for the
// number that was the last when the wait was asked for, and for no other: what is recorded later, maybe in another stream, does not end it
// sooner. All of it is in memory that the processes which know the event share, if it is one for several.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "tests/simulated_gpu/contexts.h"
#include "tests/simulated_gpu/shared_file.h"

namespace pace::simulated_gpu {

class Event {
  public:
    // Null: there is no memory left.
    static std::shared_ptr<Event> create(Context& context, bool interprocess);
    // As `context` sees the event of another process. Null: it is gone, or none.
    static std::shared_ptr<Event> open(Context& context, const Ticket& ticket);

    explicit Event(Context& context) : context_(context) {}
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    Context& context() const { return context_; }
    // None if it is for this process alone.
    std::optional<Ticket> ticket() const;

    // The number of a new record, that is not complete.
    uint32_t record();
    uint32_t last_record() const;
    // Wakes those who wait for it in any process.
    void complete(uint32_t record);
    // True at once where nothing was ever recorded.
    bool is_complete(uint32_t record);
    // Blocks until the record is complete, or `cancelled` (may be null) is set.
    void wait(uint32_t record, const std::atomic<bool>* cancelled);

  private:
    // Records whose ends are remembered one by one; older ones count as reached. More than streams hold in any test.
    static constexpr uint32_t kRemembered = 512;

    // The upper half of `last` is the process that has recorded last, the lower the number of that record. `reached` has each of the
    // last records at its number's place once it is reached, and `changes`, a futex, counts. One word of each, so that a process
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
