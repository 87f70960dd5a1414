// Communicator: one exchange's group, and awaitable messages among its nodes. It counts messages
// and bytes, knows which peers have operations in flight, and can end all of them at once.
//
// Ending early. abort() keeps the first error, closes the exchange at the transport and refuses new
// operations. Operations in flight still end one by one. Examples are a receive whose data is
// arriving, and a send that its peer has not matched. A collective awaits all operations and then
// returns the error, so no memory is in use afterwards. A send to a frozen peer ends only when the
// daemon disconnects that peer. waiting_for() names the peer. A collective that meets an error
// aborts its communicator itself. But the collective may not notice every death, because some nodes
// of a tree never exchange messages. So the daemon calls peer_lost() from the transport's lost
// handler. The daemon calls abort() when another source reports a failure.
//
// Ending by force. A coroutine that runs out of memory destroys its Operations while they are in
// flight. It also destroys the memory that they use. A pending Operation that is destroyed gives up
// its peer at the transport. Then the transport no longer touches the memory, and the exchange is
// aborted. Completions that the transport delivers later are ignored.
//
// Used only in the transport's thread. A Communicator must outlive the collectives that run on it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "transports/transport.h"

namespace pace::collectives {

struct Group {
    uint64_t exchange = 0;
    // A digest of the exchange's parameters. Nodes whose digests differ get ErrorKind::mismatch.
    uint32_t check = 0;
    // The peers in node order, equal on all nodes. nodes[self] is unused.
    std::vector<transports::PeerId> nodes;
    size_t self = 0;
    // Tells which nodes contribute to a sum, in node order, equal on all nodes. Empty means that
    // all nodes contribute. A node that does not contribute sends no partials.
    std::vector<bool> contributes;
    // The zone of each node, in node order, equal on all nodes. A zone is the number of a rack or
    // data center. All nodes with an unknown zone have 0. Empty means that all zones are unknown. A
    // sum of a long vector sends little between different zones (all_reduce.h).
    std::vector<uint32_t> zones{};
};

class Communicator;
class UnderWay;

// One posted send or receive. One coroutine awaits the Operation, possibly long after it was
// posted. An Operation must not move until it has ended.
class Operation {
  public:
    Operation() = default;
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    ~Operation() {
        if (pending_) give_up();
    }

    bool pending() const { return pending_; }

    class Awaiter {
      public:
        explicit Awaiter(Operation* operation) : operation_(operation) {}
        bool await_ready() const noexcept { return !operation_->pending_; }
        void await_suspend(std::coroutine_handle<> waiter) noexcept {
            operation_->waiter_ = waiter;
        }
        base::Result<> await_resume() { return operation_->result_; }

      private:
        Operation* operation_;
    };

    // `co_await operation.ended()` gives the outcome, or success if the Operation was never posted.
    // (An Operation is not awaitable itself, because GCC 12 copies an awaited array element.)
    Awaiter ended() { return Awaiter(this); }

  private:
    friend class Communicator;
    friend class UnderWay;
    void give_up();

    UnderWay* under_way_ = nullptr;
    uint32_t number_ = 0;  // in under_way_
    size_t node_ = 0;
    size_t bytes_ = 0;
    bool is_send_ = false;
    bool pending_ = false;
    base::Result<> result_;
    std::coroutine_handle<> waiter_;
};

class Communicator {
  public:
    struct Counters {
        uint64_t messages_sent = 0;
        uint64_t messages_received = 0;
        uint64_t bytes_sent = 0;
        uint64_t bytes_received = 0;
    };

    Communicator(transports::Transport& transport, Group group);
    // Closes the exchange at the transport. All operations must have ended, except those that were
    // given up.
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    size_t size() const { return group_.nodes.size(); }
    size_t self() const { return group_.self; }
    const Group& group() const { return group_; }
    bool contributes(size_t node) const {
        return group_.contributes.empty() || group_.contributes[node];
    }

    // Starts an operation with a node other than self. `bytes` must stay valid until the operation
    // has ended.
    void post_send(Operation& operation, size_t node, uint32_t slot,
                   std::span<const std::byte> bytes);
    void post_receive(Operation& operation, size_t node, uint32_t slot, std::span<std::byte> bytes);

    // Ends the exchange with `error`. Only the first call's error is kept.
    void abort(base::Error error);
    // Aborts if `result` is an error. A collective passes every operation's outcome to this
    // function.
    void note(const base::Result<>& result);
    // Aborts if `peer` is in the group.
    void peer_lost(transports::PeerId peer, const base::Error& error);

    bool aborted() const { return error_.has_value(); }
    // Returns the error of abort(), or success.
    base::Result<> status() const;

    // Returns the first node whose message showed that the node runs another exchange.
    std::optional<size_t> unlike() const { return unlike_; }

    // A sum calls this before it first writes to its result, or lets a peer write to the result. By
    // then every contributor has begun the exchange.
    void begin_result() { result_begun_ = true; }
    bool result_begun() const { return result_begun_; }

    const Counters& counters() const { return counters_; }
    // Returns when the last operation ended. Before the first end, returns when the communicator
    // was made.
    base::TimePoint last_progress() const { return last_progress_; }
    // Returns the nodes, in node order, with which an operation is in flight. When no operation has
    // ended for long, these nodes are the ones to suspect.
    std::vector<size_t> waiting_for() const;
    // Returns whether a message of this exchange has come from `node`.
    bool heard(size_t node) const { return heard_[node]; }
    // Returns when the most recent first message from a node came. Before the first message,
    // returns when the communicator was made.
    base::TimePoint met() const { return met_; }

  private:
    friend class UnderWay;

    bool begin(Operation& operation, size_t node, size_t bytes, bool is_send);
    transports::Completion completion(const Operation& operation);
    void end(Operation& operation, size_t node, base::Result<> result);
    void given_up(size_t node);
    transports::Tag tag(uint32_t slot) const { return {group_.exchange, slot, group_.check}; }

    transports::Transport& transport_;
    Group group_;
    std::vector<uint32_t> pending_;  // operations in flight, by node
    std::vector<bool> heard_;        // by node
    UnderWay* under_way_;            // deletes itself
    bool result_begun_ = false;
    std::optional<size_t> unlike_;
    std::optional<base::Error> error_;
    Counters counters_;
    base::TimePoint last_progress_;
    base::TimePoint met_;
};

}  // namespace pace::collectives
