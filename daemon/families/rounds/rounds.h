// Rounds: the verbs for all members (reduce, broadcast, sync, barrier), one after the other, over
// the job's view.
//
// A round begins at a node when all its members have called; the controller is not on its path. A
// round commits at all its surviving members or at none: a node that has the whole result commits,
// and keeps the result until it has committed the next round. When the membership changes, the
// controller first stops all nodes (prepare), learns how many rounds each has committed, and then
// lets all continue (commit). A node that is one round behind fetches that round's result from a
// node that has it; a round that nobody has committed is redone by the new members. Nodes are never
// further apart than one round, because nobody can commit round n + 1 before everybody has begun
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/exchange/giving.h"
#include "daemon/exchange/taking.h"
#include "daemon/families/rounds/compression.h"
#include "daemon/families/rounds/partial_rounds.h"
#include "daemon/members/job_state.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

class Rounds {
  public:
    explicit Rounds(JobState& job);

    // The worker's first request is for a round.
    void called(const WorkerPtr& worker);
    // Begins the next round if all members on this node have called. In a job of partial rounds a
    // round is always under way.
    void try_start();
    // Gives up the worker's first request. False if a round counts on the request: then it goes on.
    bool withdraw(const Worker& worker);
    // Whether the worker's first request was in a round that has failed here, and that another node
    // may have completed. The next view decides: until then the request cannot be given up.
    bool is_undecided(const Worker& worker) const;
    // Takes the worker out of the job. True if a round under way has the worker's first request,
    // which then ends with that round.
    bool suspend(const Worker& worker);
    // The worker's trainer is gone, or its place is void.
    void departed(const Worker& worker);
    // The worker is gone for good.
    void left(const Worker& worker);
    // Runs a verb that concerns this node alone.
    void run_local(const WorkerPtr& worker, const Compression::Done& done);

    // The worker's state has changed in another way.
    void look_again() {
        if (partial_) partial_->look_again();
    }

    // How many rounds' results the worker's model has; none if a newcomer may not get the model
    // now.
    std::optional<uint64_t> model_round(const Worker& worker) const;
    // The newcomer has been given a model with the results of the rounds before `round`.
    void adopted(const Worker& newcomer, uint64_t round);

    void prepare(uint64_t epoch);
    // The view is in the JobState already.
    // A view is being committed: no round begins before commit(). This node may not have known the
    // job when the view was prepared.
    void hold(uint64_t epoch) { preparing_ = std::max(preparing_, epoch); }
    void commit(const control::CommitView& view);
    // Ends what is under way with other nodes.
    void stop(const base::Error& error);
    // This node was excluded: nothing of the old view holds.
    void invalidate(const base::Error& error);

    // The members of a group have signalled since the last round, so these nodes have its result.
    void met(const std::vector<NodeId>& nodes);
    // The memory of a result that nobody needs any more; empty if there is none.
    Scratch spare_memory();

    // Whether the last round's result, or residuals of this node, are on their way to other nodes.
    bool is_giving() const;
    // Whether a residual is here that nobody has taken over yet.
    bool owes() const { return compression_.owes(); }
    // As Compression::kept_back().
    std::optional<KeptBack> kept_back(const Worker& worker) const {
        return compression_.kept_back(worker);
    }

    bool is_exchanging() const { return is_busy() || (partial_ && partial_->under_way()); }
    // In words, whom the next round, or the one under way, waits for.
    std::string awaited() const;

    uint64_t completed() const { return completed_; }
    bool stopped() const { return preparing_ != 0; }
    // The epoch of the view for which rounds are stopped; 0: none.
    uint64_t preparing() const { return preparing_; }

  private:
    // The result of the last committed round, if other nodes took part. The next reduction forms in
    // the same memory: nothing is written there before all nodes have begun that reduction, and a
    // node that has begun it does not need this result any more. A node that has been in a group
    // since does not need it either: an averaging job's first groups take the memory over.
    struct Retained {
        bool valid = false;
        uint64_t round = 0;  // the round's number, and its view's epoch
        uint64_t epoch = 0;
        size_t bytes = 0;
        uint32_t check = 0;
        Scratch memory;
        // The memory, while it is copied for other nodes off the loop and must not be written to;
        // else null.
        std::shared_ptr<Scratch> lent_out;
        uint32_t borrowers = 0;
        std::shared_ptr<DeviceResult> on_device;  // instead of the memory; may be null
        std::vector<NodeId> unmet;                // nodes that may still need it
        std::vector<std::byte> told;  // in a job of partial rounds: what kind of round it was

        // Nobody needs the result any more; the memory may be reused.
        void drop() {
            valid = false;
            on_device.reset();
        }
    };

    // What the workers are told of a partial round.
    struct PartialTold {
        std::shared_ptr<const MemberList> members;
        uint64_t round = 0;
        partial::RoundOutcome outcome;
        uint32_t nodes = 1;
        uint64_t bytes_sent = 0;
        uint64_t bytes_received = 0;
        uint64_t began_ns = 0;
    };
    struct Delivery;

    Exchange::Plan plan_round(const std::vector<WorkerPtr>& members) const;
    void leave_copy(Exchange::Plan& ret_plan, const Request& broadcast) const;
    void begin(Exchange::Plan plan, const std::vector<WorkerPtr>& members);
    bool may_form_in_retained(const Exchange::Plan& plan) const;
    void keep_result(Exchange& exchange, const base::Result<>& result);
    void ended(Exchange& exchange, const std::vector<WorkerPtr>& members,
               const base::Result<>& result);
    void failed_with(Exchange& exchange, const std::vector<WorkerPtr>& members,
                     const base::Error& error);
    void commit_round(const Exchange& exchange, const std::vector<WorkerPtr>& members);
    Ending ending_of(const Worker& worker, const Exchange& exchange, uint64_t round,
                     const std::shared_ptr<MemberList>& members, uint64_t now_ns) const;
    void end_without_memory(const Exchange& exchange, const std::vector<WorkerPtr>& members,
                            const base::Error& error);
    void log_failure(const Exchange& exchange, const base::Error& error) const;
    void fail_round(const std::vector<WorkerPtr>& members, const base::Error& error);
    void end_round(const std::vector<WorkerPtr>& members, const base::Error& error);
    void wait_again(const WorkerPtr& worker);
    void answer_prepare();
    void send_prepared();
    void fetch_from(NodeId donor);
    void fetch_hidden(NodeId donor);
    void fetch_hidden_bytes(NodeId donor, size_t size);
    void result_is_lost();
    void log_hidden_too_large(NodeId donor, uint64_t size) const;
    void serve_hidden(NodeId node);
    void keep_hidden(std::vector<std::byte> bytes);
    uint64_t number(ExchangeKind kind, NodeId fetcher) const;
    uint64_t hidden_number(NodeId node, uint64_t part) const;
    void serve(NodeId node);
    void serve_from_gpu(NodeId node);
    Transfer::About about_result(NodeId node, int deadlines = 0) const;
    void give(uint64_t number, uint32_t check, NodeId node, std::span<const std::byte> bytes);
    void give_result(NodeId node);
    Exchange::Plan fetch_plan(ExchangeKind kind, NodeId donor, uint32_t check,
                              collectives::Layout layout) const;
    void stop_gifts(const base::Error& error);
    std::shared_ptr<const bool> about_to_give();
    uint64_t round_number() const;
    bool is_busy() const { return active_ || delivering_; }
    // Whether the last round's result is here, which other nodes may lack.
    bool has_last_result() const { return retained_.valid && retained_.round + 1 == completed_; }
    void retain(size_t bytes, uint32_t check);
    void wait_for_view();
    void leave_view();

    // rounds_partial.cpp
    std::vector<WorkerPtr> members_here() const;
    std::vector<WorkerPtr> callers_here() const;
    bool take_call(const WorkerPtr& worker);
    bool give_missed(const WorkerPtr& worker);
    void open_partial();
    void partial_ended(const base::Result<partial::RoundOutcome>& outcome);
    void partial_failed(const base::Error& error);
    void end_suspended();
    void skip(const partial::RoundOutcome& outcome);
    NodeId unlike_here(const partial::RoundOutcome& outcome) const;
    void deliver(const partial::RoundOutcome& outcome, Scratch memory);
    void deliver_later(const partial::RoundOutcome& outcome, Scratch memory);
    void delivered(const std::shared_ptr<Delivery>& delivery);
    void tell(const partial::RoundOutcome& outcome);
    Ending partial_ending(const Worker& worker, uint64_t rounds, bool late);
    void end_partial(const WorkerPtr& worker, Ending ending);
    void go_on();

    // rounds_missed.cpp
    void lose_round(const Exchange& fetch, const std::vector<WorkerPtr>& members);
    void give_nothing(uint64_t number, NodeId node);
    void serve_told(NodeId node);
    using Fetched = std::function<void(const base::Result<>&, Scratch)>;
    void fetch(Exchange::Plan plan, Scratch memory, Fetched fetched);
    void fetch_told(NodeId donor);
    void fetch_sum(NodeId donor, const partial::RoundOutcome& outcome);
    void told(NodeId donor, const base::Result<>& result, Scratch memory);
    void fetch_failed(const base::Error& error);

    JobState& job_;
    uint64_t completed_ = 0;
    uint64_t preparing_ = 0;  // epoch; 0: not stopped
    // The epoch of a view in which no round begins any more. Either a round among nodes has failed,
    // whose remaining messages would be taken for those of the next attempt; or a result that this
    // node lacks has not come.
    uint64_t waits_in_ = 0;
    std::shared_ptr<Exchange> active_;
    // The view of the last round, also of its result if this node has to fetch that.
    View round_view_;
    uint64_t view_epoch_ = 0;  // of the view in which rounds begin; 0: none
    // The serials of the calls that the last exchange was for (fetches excepted), and what
    // identifies its result.
    std::map<control::Rank, uint64_t> round_calls_;
    collectives::Layout round_layout_;
    uint32_t round_check_ = 0;
    bool round_dense_ = false;  // although top-k was asked for
    collectives::Communicator::Counters
        round_traffic_;  // of a round that failed here, and whose result is fetched
    Retained retained_;
    bool lent_ = false;  // the exchange under way has the memory of retained_
    std::vector<std::weak_ptr<Transfer>> givings_;
    // Which zeros of the last result top-k has chosen, and who keeps the list.
    struct Hidden {
        std::shared_ptr<const void> keep;
        std::span<const std::byte> bytes;
    };
    Hidden hidden_;
    uint64_t chosen_ = 0;             // how many of its elements top-k chose
    std::weak_ptr<Transfer> taking_;  // from another node

    Compression compression_;

    // Null unless the job has partial rounds.
    std::unique_ptr<PartialRounds> partial_;
    uint64_t view_base_ = 0;  // the first round of the view
    bool everyone_ = false;   // the round is for a verb of all members
    std::shared_ptr<Delivery> delivering_;
    PartialTold told_;                         // of the last sum
    base::Scope giving_;                       // for results that come from a GPU to be given
    std::weak_ptr<const bool> about_to_give_;  // held by results that become givings
};

}  // namespace pace::daemon
