// Arrivals: notes the calls of this node's workers, and decides when the round starts.
//
// A worker that calls for a round gives: its contribution is in the store. So a worker that was
// counted contributes, unless it came with nothing. A worker that calls a verb of all members waits
// for the other workers instead. Such a worker delays no quorum. When all workers wait, the round
// starts for them.
//
// With solo and majority, a call at a node starts the round at this node. In all other cases one
// node of the round counts and decides. The other nodes tell it of each call in a message of one
// byte, until they hear that the round has started. The counting node starts the round when
//
//     all wait, or
//     one gives, and so do as many as the quorum asks for, or all that do not wait (a number), or
//                the worker that was drawn waits (majority).
//
// A worker that waits may give after all, and the counting node is told of this too. So there are
// at most two messages about a worker. If a worker takes its call back, no message is sent. The
// round may then start without this worker, one call too early.
//
// Receives for workers that have not called end when the communicator is aborted. An error aborts
// the communicator. Used in one thread, the communicator's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/partial/agreement/quorum.h"
#include "daemon/partial/agreement/roster.h"

namespace pace::partial {

// How a worker has called. Also the byte on the wire.
enum class Arrival : uint8_t { gives = 1, waits = 2, initiator_waits = 3, gives_after_all = 4 };

class Arrivals {
  public:
    // `start` is called when this node must start the round, once or more often. `failed` is called
    // when an operation has ended with an error. Either function may destroy this object.
    struct Events {
        std::function<void()> start;
        std::function<void()> failed;
    };

    // All arguments must outlive this object.
    Arrivals(collectives::Communicator& communicator, const Quorum& quorum, const Roster& roster,
             uint64_t round, Events events);
    Arrivals(const Arrivals&) = delete;
    Arrivals& operator=(const Arrivals&) = delete;

    // At the counting node, waits for the other nodes' messages. Called once, before arrived().
    void listen();

    // Notes the call of a worker of this node. Called at most once per worker. Has no effect after
    // stop().
    void arrived(Rank rank, bool waits);
    // Notes that a worker that waited gives after all. Called at most once per worker. Has no
    // effect after stop().
    void gives_after_all(Rank rank);

    // Called when the round has started. No node needs to be told any more.
    void stop() { stopped_ = true; }

    // Ends when every operation has ended. Before this object is destroyed, the communicator must
    // be aborted and ended() must be awaited.
    base::Task<> ended();

  private:
    struct Message {
        collectives::Operation operation;
        std::byte arrival{};
    };
    struct Messages {
        std::unique_ptr<Message[]> by_arrival;  // two per worker
        size_t posted = 0;
    };

    bool counts_here() const { return counter_ == communicator_.self(); }
    void count(Arrival arrival);
    bool is_due() const;
    bool starts_alone(Rank rank) const;
    void say(Arrival arrival);
    void listen_once_more(size_t node);
    base::Task<> tell(size_t index);
    base::Task<> hear(size_t node, size_t index);

    collectives::Communicator& communicator_;
    const Roster& roster_;
    Events events_;
    Quorum::Kind kind_;
    size_t living_ = 0;
    size_t needed_ = 1;
    size_t counter_ = 0;  // the counting node
    Rank initiator_ = 0;
    size_t giving_ = 0;
    size_t waiting_ = 0;
    bool initiator_waits_ = false;
    bool stopped_ = false;
    // By node. A node that does not count has only its own messages.
    std::unique_ptr<Messages[]> messages_;
    base::Counter pending_;
};

}  // namespace pace::partial
