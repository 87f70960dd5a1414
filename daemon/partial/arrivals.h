// Arrivals: sees this node's workers arrive at a round, and says when the round is to start.
//
// Solo and majority look at this node's own workers only. Otherwise one node of the round counts:
// the others tell it of each arrival in a message of zero bytes, until they hear that the round has
// started, and it starts the round at the arrival that fills the quorum. A worker has arrived when
// what it gives is in the store, so that whoever was counted contributes, unless it came with
// nothing to give.
//
// Receives for workers that have not arrived end when the communicator is aborted. An error aborts
// it. One thread, the communicator's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/partial/quorum.h"
#include "daemon/partial/roster.h"

namespace pace::partial {

class Arrivals {
  public:
    // `start` is called when this node is to start the round, once or more; `failed` when an
    // operation has ended with an error. Either may end everything.
    struct Events {
        std::function<void()> start;
        std::function<void()> failed;
    };

    // All must outlive this.
    Arrivals(collectives::Communicator& communicator, const Quorum& quorum, const Roster& roster,
             uint64_t round, Events events);
    Arrivals(const Arrivals&) = delete;
    Arrivals& operator=(const Arrivals&) = delete;

    // Where this node counts, waits for the others' arrivals. Once, before arrived().
    void listen();

    // A worker of this node has arrived; each at most once. After stop() without effect.
    void arrived(Rank rank);

    // The round has started: nobody needs to be told any more.
    void stop() { stopped_ = true; }

    // Ends when every operation has; to be awaited, the communicator being aborted, before this is
    // destroyed.
    base::Task<> ended();

  private:
    struct Messages {
        std::unique_ptr<collectives::Operation[]> operations;  // by arrival
        size_t count = 0;
    };

    bool counts_here() const { return counter_ == communicator_.self(); }
    void count();
    base::Task<> tell(size_t index);
    base::Task<> hear(size_t node, size_t index);

    collectives::Communicator& communicator_;
    const Roster& roster_;
    Events events_;
    bool counted_ = false;
    size_t needed_ = 1;
    size_t counter_ = 0;  // node
    bool any_starts_ = false;
    Rank initiator_ = 0;
    size_t count_ = 0;
    size_t told_ = 0;
    bool stopped_ = false;
    std::unique_ptr<Messages[]> messages_;  // by node; at a node that does not count, own ones
    base::Counter pending_;
};

}  // namespace pace::partial
