// MissedRound: a round that this node lacks, and that another node, the donor, has completed.
//
// In a job of partial rounds this node first asks what kind of round it was. With top-k it first
// asks which zeros of the result are chosen ones. Then the result itself is fetched: here if it is
// the sum of a partial round, and by FullRound if all members had called the round. What does not
// come is asked for again when the next view names another donor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/exchange/exchange.h"
#include "daemon/exchange/taking.h"
#include "daemon/families/rounds/last_result.h"
#include "daemon/families/rounds/partial_rounds.h"
#include "daemon/families/rounds/round_port.h"
#include "daemon/families/rounds/sequence.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

struct ToldRound;

class MissedRound {
  public:
    // What the round has turned out to be.
    class Port : public RoundPort {
      public:
        // One that all members had called: the donor gives its result.
        virtual void fetch_result(NodeId donor) = 0;
        virtual void result_is_lost() = 0;
        // A partial one with this sum, or without any.
        virtual void deliver(const partial::RoundOutcome& outcome, Scratch sum) = 0;
        virtual void skip(const partial::RoundOutcome& outcome) = 0;

      protected:
        ~Port() = default;
    };

    // `partial` is null unless the job has partial rounds.
    MissedRound(JobState& job, Sequence& sequence, LastResult& result, PartialRounds* partial,
                Port& port)
        : job_(job), sequence_(sequence), result_(result), partial_(partial), port_(port) {}

    // `layout` is that of the last attempt at a round of all members.
    void fetch(NodeId donor, const collectives::Layout& layout);
    // Another view is prepared.
    void stop(const base::Error& error);
    // Null: no exchange is under way.
    const std::shared_ptr<Exchange>& exchange() const { return exchange_; }

  private:
    using Fetched = std::function<void(const base::Result<>&, Scratch)>;

    void fetch_hidden(NodeId donor, size_t count);
    void fetch_hidden_bytes(NodeId donor, size_t size, uint64_t chosen);
    void came(NodeId donor);
    void log_hidden_too_large(NodeId donor, uint64_t size) const;
    void run(Exchange::Plan plan, Scratch memory, Fetched fetched);
    void fetch_told(NodeId donor);
    void told(NodeId donor, const base::Result<>& result, const Scratch& memory);
    base::Result<> check_size(const ToldRound& told) const;
    void fetch_sum(NodeId donor, const partial::RoundOutcome& outcome);
    void failed(const base::Error& error);

    JobState& job_;
    Sequence& sequence_;
    LastResult& result_;
    PartialRounds* partial_;
    Port& port_;
    std::shared_ptr<Exchange> exchange_;
    std::weak_ptr<Transfer> taking_;  // of what top-k has hidden
};

}  // namespace pace::daemon
