// Arrivals: sees this node's workers call, and says when the round is to start.
//
// A worker that calls for a round gives: what it has is in the store, so that whoever was counted
// contributes, unless it came with nothing. A worker that calls a verb of all members waits for the
// others instead: it holds up no quorum, and when all wait the round starts, for them.
//
// Solo and majority are started by a call at its own node. Everything else is decided by one node
// of the round, which counts: the others tell it of each call in a message of one byte, until they
// hear that the round has started. It starts the round when
//
//     all wait, or
//     one gives, and so do as many as the quorum asks for, or all that do not wait (a number), or
//                the worker that was drawn waits (majority).
//
// A worker that waits may give after all, and the node that counts is told that too; so a worker is
// told of at most twice. A worker that takes its call back is not: the round may then start without
// it, one too early.
//
// Receives for workers that have not called end when the communicator is aborted. An error aborts
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

// How a worker has called; also on the wire.
enum class Arrival : uint8_t { gives = 1, waits = 2, initiator_waits = 3, gives_after_all = 4 };

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

    // Where this node counts, waits for the others' calls. Once, before arrived().
    void listen();

    // A worker of this node has called; each at most once. After stop() without effect.
    void arrived(Rank rank, bool waits);
    // One that had called to wait gives after all; each at most once. As arrived().
    void gives_after_all(Rank rank);

    // The round has started: nobody needs to be told any more.
    void stop() { stopped_ = true; }

    // Ends when every operation has; to be awaited, the communicator being aborted, before this is
    // destroyed.
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
    size_t counter_ = 0;  // node
    Rank initiator_ = 0;
    size_t giving_ = 0;
    size_t waiting_ = 0;
    bool initiator_waits_ = false;
    bool stopped_ = false;
    std::unique_ptr<Messages[]> messages_;  // by node; at a node that does not count, own ones
    base::Counter pending_;
};

}  // namespace pace::partial
