// PartialRun: one attempt at a round of a job that does not wait for the slow:
// partial/partial_round.h among the nodes of a view. Lives until the round's operations have ended,
// whatever becomes of the job meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/partial/missed.h"
#include "daemon/partial/partial_round.h"
#include "daemon/runtime/active.h"
#include "daemon/runtime/scratch.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

// What this node knows of its workers' gradients, shared by all rounds of the job.
struct PartialBooks {
    // `paid_by` charges what is copied and summed.
    PartialBooks(partial::Late late, std::shared_ptr<kernels::Strand> all, partial::Pay paid_by)
        : strand(std::move(all)), pay(std::move(paid_by)), store(late, strand, pay) {}

    // Called once the store has terms.
    void begin_missed() { missed.emplace(store.layout(), strand, pay); }

    std::shared_ptr<kernels::Strand> strand;
    partial::Pay pay;
    partial::Store store;
    std::optional<partial::Missed> missed;
};

class PartialRun final : public Active, public std::enable_shared_from_this<PartialRun> {
  public:
    struct Place {
        uint32_t job = 0;
        std::vector<NodeId> nodes;  // in node order, this one included
        std::string what;           // the round in words, for the log
    };
    using Done = std::function<void(const base::Result<partial::RoundOutcome>&)>;

    // `plan.group.nodes` is filled in here. `lend` returns memory for the result, of any size, when
    // all nodes have begun the round.
    PartialRun(Services& services, Place place, partial::RoundPlan plan,
               std::shared_ptr<PartialBooks> books, std::function<Scratch()> lend);

    // Called once, on a shared object. `done` is called once, possibly before this returns, unless
    // detach() was called.
    void start(Done done);
    // Nobody wants to hear of the run's end any more.
    void detach() {
        done_ = {};
        lend_ = {};
    }

    partial::PartialRound& round() { return *round_; }
    const partial::PartialRound& round() const { return *round_; }
    Scratch take_scratch() { return std::move(scratch_); }
    const std::vector<NodeId>& nodes() const { return place_.nodes; }
    uint64_t began_ns() const { return began_ns_; }

    void abort(const base::Error& error) override;
    void peer_lost(transports::PeerId peer, const base::Error& error) override {
        round_->peer_lost(peer, error);
    }
    base::Duration stalled_for(base::TimePoint now) override;
    std::vector<NodeId> waiting_for() const override;
    uint32_t job() const override { return place_.job; }
    bool patient() const override { return !aborted_; }
    std::string what() const override { return place_.what; }

  private:
    base::Result<> connect(partial::RoundPlan& plan);
    base::Result<std::span<std::byte>> memory(size_t bytes);
    void ended(const base::Result<partial::RoundOutcome>& outcome);
    void finish(base::Result<partial::RoundOutcome> outcome);
    void finish_later(base::Result<partial::RoundOutcome> outcome);

    Services& services_;
    Place place_;
    std::shared_ptr<PartialBooks> books_;
    std::function<Scratch()> lend_;
    base::Result<> connected_;
    std::optional<partial::PartialRound> round_;
    Scratch scratch_;
    Done done_;
    uint64_t began_ns_ = 0;
    bool aborted_ = false;
    // An outcome of which it is not known yet whether it counts.
    std::optional<partial::RoundOutcome> unsure_;
};

}  // namespace pace::daemon
