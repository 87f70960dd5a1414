// Rounds that end here without a result, and rounds that this node has missed because the job does
// not wait for slow workers. A node that has such a round tells this node about it and sends the
// result.
#include <utility>

#include "base/training_events.h"
#include "daemon/families/rounds/rounds.h"
#include "daemon/families/rounds/told_round.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using partial::RoundOutcome;
using partial::Verdict;

// The other nodes have the round behind them, and take part in no other attempt.
void Rounds::lose_round(const Exchange& fetch, const std::vector<WorkerPtr>& members) {
    const NodeId donor = fetch.plan().nodes[fetch.plan().root];
    const auto error = base::make_error(
        ErrorKind::unavailable,
        "{} cannot give {}, which this node missed; call pace_broadcast for the current model",
        job_.services.peers.name(donor), fetch.plan().what);
    base::log_event(base::events::kRoundLost,
                    {{"job", job_.options.name}, {"round", completed_}, {"reason", error.message}});
    end_round(members, error);
}

// The round has no result on this node.
void Rounds::end_round(const std::vector<WorkerPtr>& members, const base::Error& error) {
    compression_.discard();
    if (partial_) partial_->commit_nothing(completed_);
    everyone_ = false;
    ++completed_;
    retained_.drop();
    for (const WorkerPtr& worker : members) job_.end_head(worker, failed(error));
    // The next round begins without a call.
    if (partial_) job_.services.loop.defer(job_.scope.callback([this] { try_start(); }));
}

// The other nodes hear that this one takes no part in the round.
void Rounds::fail_round(const std::vector<WorkerPtr>& members, const base::Error& error) {
    send_poison(job_.services, round_number(), job_.view.nodes());
    end_round(members, error);
}

// The other node hears that this one gives nothing under this number. What that node says about the
// number is not kept.
void Rounds::give_nothing(uint64_t number, NodeId node) {
    send_poison(job_.services, number, {node});
    job_.services.transport.close_exchange(number);
}

void Rounds::serve_told(NodeId node) {
    give(number(ExchangeKind::fetch_told, node), kToldRoundCheck, node, retained_.told);
}

void Rounds::fetch(Exchange::Plan plan, Scratch memory, Fetched fetched) {
    auto exchange = Exchange::start(job_.services, std::move(plan), std::move(memory),
                                    job_.scope.bind([this, fetched = std::move(fetched)](
                                                        Exchange& done, const Result<>& result) {
                                        active_.reset();
                                        fetched(result, done.take_scratch());
                                    }));
    if (!exchange->ended()) active_ = std::move(exchange);
}

void Rounds::fetch_told(NodeId donor) {
    collectives::Layout layout(
        {{protocol::DType::f32, told_round_bytes(round_view_.roster()) / sizeof(float)}});
    fetch(fetch_plan(ExchangeKind::fetch_told, donor, kToldRoundCheck, std::move(layout)), {},
          [this, donor](const Result<>& result, Scratch memory) {
              told(donor, result, std::move(memory));
          });
}

void Rounds::told(NodeId donor, const Result<>& result, Scratch memory) {
    if (!result) {
        fetch_failed(result.error());
        return;
    }
    const std::span<const std::byte> bytes(memory.data(), told_round_bytes(round_view_.roster()));
    auto read = read_told_round(round_view_.roster(), bytes);
    if (!read) {
        fetch_failed(read.error());
        return;
    }
    const RoundOutcome& outcome = read->outcome;
    if (read->terms && !partial_->terms()) partial_->agree(std::move(*read->terms));
    if (preparing_ != 0) {
        answer_prepare();
        return;
    }
    switch (outcome.verdict) {
        case Verdict::sum:
            fetch_sum(donor, outcome);
            return;
        case Verdict::everyone:
            partial_->put_back();
            fetch_from(donor);
            return;
        case Verdict::disagree:
            partial_->used_up();
            break;
        case Verdict::nothing:
            partial_->put_back();
            break;
    }
    skip(outcome);
    go_on();
}

void Rounds::fetch_failed(const base::Error& error) {
    // The next view names another donor, unless the last donor has nothing to give any more.
    if (error.kind == ErrorKind::mismatch || error.kind == ErrorKind::corrupt) {
        base::log_event(
            base::events::kRoundLost,
            {{"job", job_.options.name}, {"round", completed_}, {"reason", error.message}});
        partial_->used_up();
        skip({Verdict::nothing, {}, 1.0, {}});
        retained_.drop();
        go_on();
        return;
    }
    wait_for_view();
    if (preparing_ != 0) answer_prepare();
}

void Rounds::fetch_sum(NodeId donor, const RoundOutcome& outcome) {
    retained_.drop();
    fetch(fetch_plan(ExchangeKind::fetch, donor, partial::digest_of(*partial_->terms()),
                     partial_->terms()->layout),
          std::exchange(retained_.memory, {}),
          [this, outcome](const Result<>& result, Scratch memory) {
              if (!result) {
                  retained_.memory = std::move(memory);
                  fetch_failed(result.error());
                  return;
              }
              partial_->used_up();
              deliver(outcome, std::move(memory));
          });
}

}  // namespace pace::daemon
