// FullRound: one attempt after the other at a round that all members have called: a reduction, a
// broadcast, a sync or a barrier.
//
// The round commits here when this node has the whole result. An attempt that fails among nodes
// leaves the requests waiting, with their buffers as they were: the next view says whether the
// round is begun again or was completed by another node. Then fetch() gets the result from there,
// for the members that still wait with the calls of that attempt.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/families/rounds/compression.h"
#include "daemon/families/rounds/last_result.h"
#include "daemon/families/rounds/partial_delivery.h"
#include "daemon/families/rounds/round_port.h"
#include "daemon/families/rounds/sequence.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class FullRound {
  public:
    // `partial` is null unless the job has partial rounds.
    FullRound(JobState& job, Sequence& sequence, LastResult& result, Compression& compression,
              PartialDelivery* partial, RoundPort& port)
        : job_(job),
          sequence_(sequence),
          result_(result),
          compression_(compression),
          partial_(partial),
          port_(port) {}

    // Begins the round if all members on this node have called.
    void try_begin();
    // Another node, the donor, has completed the round.
    void fetch(NodeId donor);
    // The donor does not give the result.
    void result_is_lost();
    // No node has completed the round.
    void forget_calls() { calls_.clear(); }

    // Null: no exchange is under way.
    const std::shared_ptr<Exchange>& exchange() const { return exchange_; }
    // Of the buffers of the last attempt.
    const collectives::Layout& layout() const { return layout_; }
    // Whether the worker's first request was in the last attempt, which another node may have
    // completed.
    bool is_undecided(const Worker& worker) const;
    // The worker's first request is in no round any more, and waits for another one.
    void wait_again(const WorkerPtr& worker);

  private:
    using Workers = std::vector<WorkerPtr>;

    void run(Exchange::Plan plan, const Workers& members);
    void ended(ExchangeOutcome& outcome, const Workers& members);
    void commit(const ExchangeOutcome& outcome, const Workers& members);
    Ending ending_of(const Worker& worker, const ExchangeOutcome& outcome, uint64_t round,
                     const std::shared_ptr<MemberList>& members, uint64_t now_ns) const;
    void failed_with(const ExchangeOutcome& outcome, const Workers& members);
    void log_failure(const ExchangeOutcome& outcome) const;
    void lose(const ExchangePlan& fetch, const Workers& members);
    void fail(const Workers& members, const base::Error& error);
    void end_without_memory(const ExchangeOutcome& outcome, const Workers& members);
    void end_without_result(const Workers& members, const base::Error& error);

    JobState& job_;
    Sequence& sequence_;
    LastResult& result_;
    Compression& compression_;
    PartialDelivery* partial_;
    RoundPort& port_;
    std::shared_ptr<Exchange> exchange_;
    // What identifies the last attempt: the serials of its calls, and what they were.
    std::map<control::Rank, uint64_t> calls_;
    collectives::Layout layout_;
    uint32_t check_ = 0;
    bool dense_ = false;  // although top-k was asked for
    // Of an attempt that has failed here, and whose result is fetched.
    collectives::Communicator::Counters traffic_;
};

}  // namespace pace::daemon
