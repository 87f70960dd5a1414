#include "daemon/exchange/partial_run.h"

#include <algorithm>
#include <utility>

#include "daemon/control/controller.h"

namespace pace::daemon {

using base::Result;

PartialRun::PartialRun(Services& services, Place place, partial::RoundPlan plan,
                       std::shared_ptr<PartialBooks> books, std::function<Scratch()> lend)
    : services_(services),
      place_(std::move(place)),
      books_(std::move(books)),
      lend_(std::move(lend)),
      connected_(connect(plan)) {
    round_.emplace(services_.transport, std::move(plan), books_->store);
}

Result<> PartialRun::connect(partial::RoundPlan& plan) {
    plan.group.nodes.assign(place_.nodes.size(), 0);
    for (size_t i = 0; i < place_.nodes.size(); ++i) {
        if (i == plan.group.self) continue;
        PACE_TRY_ASSIGN(peer, services_.peers.peer(place_.nodes[i]));
        plan.group.nodes[i] = peer;
    }
    return {};
}

void PartialRun::start(Done done) {
    done_ = std::move(done);
    services_.recorder->note(exchange_record(RecordKind::exchange_begins, place_.job, place_.what),
                             place_.nodes);
    if (!connected_) {
        // Not from inside the call: the caller has not stored the run yet.
        services_.loop.defer(base::keep(
            shared_from_this(), [](PartialRun& self) { self.ended(self.connected_.error()); }));
        return;
    }
    if (place_.nodes.size() > 1) services_.active.add(weak_from_this());
    base::spawn<Result<partial::RoundOutcome>>(
        round_->run([this](size_t bytes) { return memory(bytes); }),
        [self = shared_from_this()](const Result<partial::RoundOutcome>& outcome) {
            self->ended(outcome);
        });
}

Result<std::span<std::byte>> PartialRun::memory(size_t bytes) {
    began_ns_ = base::now_ns();
    if (lend_) scratch_ = lend_();
    // Another node may have said what the buffers are.
    const Payer payer = services_.payer_of(place_.job);
    PACE_TRY(payer.accounts->check_possible(bytes, "the result of a round"));
    return scratch_.reserve(bytes, payer);
}

// The other nodes may have given up this node, and redo the round without it (Exchange::when_sure).
void PartialRun::ended(const Result<partial::RoundOutcome>& outcome) {
    Doubt& doubt = services_.control.doubt();
    if (!outcome || place_.nodes.size() <= 1 || !doubt.is_at(base::now_through_sleep())) {
        finish(outcome);
        return;
    }
    unsure_ = *outcome;
    doubt.when_sure(base::now_through_sleep(), [weak = weak_from_this()] {
        const auto run = weak.lock();
        if (run && run->unsure_) run->finish_later(*std::exchange(run->unsure_, {}));
    });
}

void PartialRun::abort(const base::Error& error) {
    aborted_ = true;
    round_->abort(error);
    if (std::exchange(unsure_, {})) finish_later(error);
}

// Not from inside abort(), whose caller may own this object.
void PartialRun::finish_later(Result<partial::RoundOutcome> outcome) {
    services_.loop.defer(
        base::keep(shared_from_this(),
                   [outcome = std::move(outcome)](PartialRun& self) { self.finish(outcome); }));
}

void PartialRun::finish(Result<partial::RoundOutcome> outcome) {
    const Result<> settled = outcome ? round_->settle(*outcome) : Result<>();
    if (!settled) outcome = settled.error();
    services_.active.remove(this);
    const auto traffic = round_->traffic();
    services_.counters.bytes_sent += traffic.bytes_sent;
    services_.counters.bytes_received += traffic.bytes_received;
    if (!outcome) ++services_.counters.exchanges_aborted;
    Record record = exchange_record(RecordKind::exchange_ends, place_.job, place_.what);
    record.amount = traffic.bytes_sent;
    record.detail_2 = outcome ? 0 : static_cast<uint8_t>(outcome.error().kind);
    services_.recorder->note(record);
    lend_ = {};
    if (const Done done = std::exchange(done_, {})) done(outcome);
}

base::Duration PartialRun::stalled_for(base::TimePoint now) {
    if (round_->waiting_for().empty()) return base::Duration::zero();
    return now - round_->last_progress();
}

std::vector<NodeId> PartialRun::waiting_for() const {
    std::vector<NodeId> nodes;
    for (const size_t index : round_->waiting_for()) nodes.push_back(place_.nodes[index]);
    return nodes;
}

}  // namespace pace::daemon
