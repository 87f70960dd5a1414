// Communicator: one exchange's group, and awaitable messages among its nodes. It counts what moves,
// knows which peers still owe an operation, and can end everything at once.
//
// Ending early. abort() keeps the first error, closes the exchange at the transport and refuses new
// operations. Operations that are under way still end one by one (a receive whose data is arriving,
// a send that its peer has not matched): a collective awaits all of them and then returns the
// error, so no memory is in use after it. A send to a frozen peer ends only when the daemon
// disconnects that peer; waiting_for() says whom. A collective that meets an error aborts its
// communicator itself. It may not hear of every death (a tree has nodes that never talk to each
// other): the daemon calls peer_lost() from the transport's lost handler, and abort() on word from
// elsewhere.
//
// Ending by force. A coroutine that finds no memory loses its Operations while they are under way, and the memory that they use.
// An Operation that is destroyed so gives up its peer, at the transport: nothing touches that memory any more, and the exchange is
// aborted. What the transport still ends later finds nobody.
//
// One thread, the transport's. A Communicator must outlive the collectives that run on it.
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
    // Digest of what the exchange is; nodes that disagree get ErrorKind::mismatch.
    uint32_t check = 0;
    // In node order, equal everywhere; nodes[self] is unused.
    std::vector<transports::PeerId> nodes;
    size_t self = 0;
    // Which nodes contribute to a sum, in node order, equal everywhere; empty: all do. A node that
    // does not is skipped, and sends no partials.
    std::vector<bool> contributes;
    // Where each node is, in node order, equal everywhere: the number of its rack or data center, 0
    // for all that are not known. Empty: none is known. A sum of much between several places sends little
    // from one to the other (all_reduce.h).
    std::vector<uint32_t> zones{};
};

class Communicator;
class UnderWay;

// One posted send or receive; awaited by one coroutine, possibly long after it was posted. Must
// stay where it is until it has ended.
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

    // `co_await operation.ended()` gives the outcome; of an Operation that was never posted,
    // success. (An Operation is not awaitable itself because GCC 12 copies an awaited array
    // element.)
    Awaiter ended() { return Awaiter(this); }

  private:
    friend class Communicator;
    friend class UnderWay;
    void give_up();

    UnderWay* under_way_ = nullptr;
    uint32_t number_ = 0;  // there
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
    // Closes the exchange at the transport. All operations must have ended, but those that were given up.
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    size_t size() const { return group_.nodes.size(); }
    size_t self() const { return group_.self; }
    const Group& group() const { return group_; }
    bool contributes(size_t node) const {
        return group_.contributes.empty() || group_.contributes[node];
    }

    // Starts an operation with a node other than self. `bytes` must stay valid until it has ended.
    void post_send(Operation& operation, size_t node, uint32_t slot,
                   std::span<const std::byte> bytes);
    void post_receive(Operation& operation, size_t node, uint32_t slot, std::span<std::byte> bytes);

    // Ends the exchange with `error`; the first call's error stays.
    void abort(base::Error error);
    // Aborts if `result` is an error. A collective passes every operation's outcome through here.
    void note(const base::Result<>& result);
    // Aborts if `peer` is in the group.
    void peer_lost(transports::PeerId peer, const base::Error& error);

    bool aborted() const { return error_.has_value(); }
    // The error of abort(), or success.
    base::Result<> status() const;

    // The first node whose message showed that it is in another exchange.
    std::optional<size_t> unlike() const { return unlike_; }

    // A sum says so before it writes, or lets a peer write, to its result for the first time: by then every
    // contributor has begun the exchange.
    void begin_result() { result_begun_ = true; }
    bool result_begun() const { return result_begun_; }

    const Counters& counters() const { return counters_; }
    // When the last operation ended (at first: when the communicator was made).
    base::TimePoint last_progress() const { return last_progress_; }
    // The nodes, in node order, with which an operation is under way. When nothing has ended for
    // long, these are the ones to suspect.
    std::vector<size_t> waiting_for() const;
    // Whether a message of this exchange has come from the node.
    bool heard(size_t node) const { return heard_[node]; }
    // When the last of the nodes that were heard was heard for the first time (at first: when the communicator was made).
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
    std::vector<uint32_t> pending_;  // operations under way, by node
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
