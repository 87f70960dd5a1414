#include "daemon/exchange/exchange.h"

#include <algorithm>

#include "daemon/collectives/barrier.h"
#include "daemon/collectives/half_all_reduce.h"
#include "daemon/collectives/piecewise.h"
#include "daemon/control/controller.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using base::Task;

namespace {

size_t bytes_touched(const Exchange::Plan& plan) {
    const size_t copies = plan.copy_to.empty() ? 0 : 1;
    return plan.layout.bytes() * (plan.contributions.size() + plan.recipients.size() + copies);
}

void record_end(const Services& services, const Exchange::Plan& plan, uint64_t bytes,
                const Result<>& result) {
    Record record = exchange_record(RecordKind::exchange_ends, plan.job, plan.what);
    record.amount = bytes;
    record.detail_2 = result ? 0 : static_cast<uint8_t>(result.error().kind);
    services.recorder->note(record);
}

}  // namespace

std::shared_ptr<Exchange> Exchange::start(Services& services, Plan plan, Scratch scratch,
                                          Done done) {
    std::shared_ptr<Exchange> exchange(
        new Exchange(services, std::move(plan), std::move(scratch), std::move(done)));
    exchange->self_ = exchange;
    const Plan& known = exchange->plan_;
    services.recorder->note(exchange_record(RecordKind::exchange_begins, known.job, known.what),
                            known.nodes);
    if (exchange->may_sum_where_they_are()) {
        exchange->sum_where_they_are();
        return exchange;
    }
    exchange->prepare_gpus();
    if (exchange->go_among_gpus_here()) return exchange;
    if (!exchange->is_local() || exchange->plan_.on_device.empty()) {
        exchange->begin();
    } else {
        exchange->begin_on_host();
    }
    return exchange;
}

void Exchange::begin() {
    if (is_local() && is_made()) {
        run_local();
        return;
    }
    if (is_local()) {
        services_.active.add(self_);
        base::spawn<Result<>>(await_members(),
                              [this](const Result<>& result) { members_ended(result); });
        return;
    }
    if (auto joined = join_nodes(); !joined) {
        // Not from inside start(): the caller has not stored the exchange yet.
        services_.loop.defer(base::keep(self_, [joined](Exchange& own) { own.finish(joined); }));
        return;
    }
    services_.active.add(self_);
    base::spawn<Result<>>(plan_.numbers.empty() ? run_among_nodes() : run_telling(),
                          [this](const Result<>& result) { network_ended(result); });
}

Exchange::Exchange(Services& services, Plan plan, Scratch scratch, Done done)
    : services_(services),
      plan_(std::move(plan)),
      scratch_(std::move(scratch)),
      done_(std::move(done)) {
    std::vector<collectives::Member> members;
    members.reserve(plan_.contributions.size());
    for (const Contribution& contribution : plan_.contributions)
        members.push_back({contribution.segments, contribution.weight});
    part_.emplace(plan_.layout, std::move(members));
    for (const auto& buffers : plan_.recipients) recipients_.push_back({memory_of(buffers)});
    if (!plan_.copy_to.empty()) recipients_.push_back({plan_.copy_to});
}

// True: `step` is called later.
bool Exchange::waits_for_hold(void (Exchange::*step)()) {
    if (!plan_.hold || !plan_.hold->is_held()) return false;
    plan_.hold->when_free([this, keep = self_, step] { (this->*step)(); });
    return true;
}

void Exchange::run_local() {
    if (waits_for_hold(&Exchange::run_local)) return;
    const bool nothing_to_do = plan_.layout.bytes() == 0 || recipients_.empty();
    if (nothing_to_do) {
        finish({});
        return;
    }
    const bool copies = plan_.kind == Kind::broadcast;
    tell_writing(plan_.marks);
    if (bytes_touched(plan_) <= services_.options.inline_bytes_max) {
        if (copies)
            collectives::copy_among_members(*part_, recipients_, services_.pool);
        else
            collectives::sum_into_members(*part_, plan_.scale, recipients_, services_.pool);
        finish({});
        return;
    }
    if (copies)
        collectives::copy_among_members(*part_, recipients_, services_.pool, done_here());
    else
        collectives::sum_into_members(*part_, plan_.scale, recipients_, services_.pool,
                                      done_here());
}

Task<Result<>> Exchange::await_members() {
    while (!is_made() && !abort_) co_await plan_.progress->changed();
    if (abort_) co_return *abort_;
    co_return Result<>();
}

void Exchange::members_ended(const Result<>& result) {
    services_.active.remove(this);
    if (!result) return finish(result);
    run_local();
}

Result<> Exchange::join_nodes() {
    collectives::Group group;
    group.exchange = plan_.number;
    group.check = plan_.check;
    group.self = plan_.self;
    // Reductions by top-k, including their dense rounds, know no zones.
    if (!plan_.top_k) group.zones = plan_.zones;
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
        if (i == plan_.self) {
            group.nodes.push_back(0);
            continue;
        }
        PACE_TRY_ASSIGN(peer, services_.peers.peer(plan_.nodes[i]));
        group.nodes.push_back(peer);
    }
    PACE_TRY(place_result());
    communicator_ =
        std::make_unique<collectives::Communicator>(services_.transport, std::move(group));
    if (!plan_.top_k) return {};
    sparse_ = std::make_unique<SparseRun>(services_, *plan_.top_k, services_.payer_of(plan_.job));
    return sparse_->connect(plan_.check, services_.self);
}

Result<> Exchange::place_result() {
    const size_t bytes = plan_.layout.bytes();
    if (!plan_.formed_by) {
        PACE_TRY_ASSIGN(result, scratch_.reserve(bytes, services_.payer_of(plan_.job)));
        result_ = result;
        return {};
    }
    const size_t place = *plan_.formed_by;
    result_ = {recipients_[place].segments.front(), bytes};
    recipients_.erase(recipients_.begin() + static_cast<ptrdiff_t>(place));
    tell_writing(plan_.marks[place]);
    ++services_.counters.averages_in_results;
    return {};
}

Task<Result<>> Exchange::run_among_nodes() {
    if (may_go_among_gpus()) {
        const Result<bool> meet = co_await meet_gpus();
        if (!meet) co_return meet.error();
        if (*meet) co_return co_await when_sure(co_await gpu_sum_->run(plan_.scale));
        gpu_sum_.reset();  // other sums may use the GPUs
    }
    if (sparse_ && co_await place_gradient()) co_return co_await run_by_hosts();
    if (co_await flow()) {
        const Result<> sum = co_await run_by_hosts();
        const Result<> settled = co_await flow_->settle(sum);
        contents_lost_ = flow_->lost();
        if (settled) ++services_.counters.sums_in_pieces;
        co_return settled;
    }
    const Result<> came = co_await contents_on_host();
    if (!came) communicator_->abort(came.error());
    if (!came) co_return came;
    co_return co_await run_by_hosts();
}

Task<Result<>> Exchange::run_by_hosts() {
    co_return co_await when_sure(co_await move_by_hosts());
}

// The other nodes may have given up this node, and redo the round without it. A result that this
// node still put together from their messages is then nobody's result, and the node is told to stop
// before it is told that all is well. Groups need no such wait, as they commit member by member;
// nor does a fetch, whose result another node has committed.
Task<Result<>> Exchange::when_sure(Result<> result) {
    Doubt& doubt = services_.control->doubt();
    const bool may_be_redone = plan_.patient && plan_.kind != Kind::fetch;
    if (!result || !may_be_redone || !doubt.is_at(base::now_through_sleep())) co_return result;
    is_sure_ = false;
    doubt.when_sure(base::now_through_sleep(), [weak = weak_from_this()] {
        if (const auto exchange = weak.lock()) exchange->is_sure_now();
    });
    co_await until(is_sure_);
    if (abort_) co_return *abort_;
    co_return result;
}

void Exchange::is_sure_now() {
    if (std::exchange(is_sure_, true)) return;
    // Not from inside abort(), whose caller may own the exchange.
    services_.loop.defer(base::keep(self_, [](Exchange& own) { own.came_changed_.notify(); }));
}

Task<Result<>> Exchange::move_by_hosts() {
    const ExchangeOptions& options = services_.options;
    switch (plan_.kind) {
        case Kind::barrier:
            co_return co_await collectives::barrier(*communicator_);
        case Kind::broadcast: {
            collectives::BroadcastOptions broadcast = options.broadcast;
            broadcast.source = [this](collectives::ByteRange range, std::byte* out) {
                part_->copy(range, out);
            };
            // The root sends without receiving. The barrier beside the broadcast keeps the root
            // from going on before all nodes have begun the same broadcast.
            std::vector<Task<Result<>>> both;
            both.push_back(collectives::broadcast(*communicator_, plan_.root, result_, broadcast));
            both.push_back(collectives::barrier(*communicator_));
            co_await base::when_all(std::move(both));
            co_return communicator_->status();
        }
        case Kind::fetch:
            co_return co_await collectives::transfer_from(*communicator_, plan_.root, result_,
                                                          options.transfer);
        case Kind::reduce:
            break;
    }
    co_return co_await reduce();
}

Task<Result<>> Exchange::reduce() {
    collectives::AllReduceOptions options = services_.options.all_reduce;
    options.flow = flow_.get();
    if (sparse_) co_return co_await sparse_->run(*communicator_, *part_, plan_.scale, result_);
    if (plan_.progress)
        co_return co_await collectives::all_reduce_piecewise(
            *communicator_, *part_, plan_.scale, result_, options, services_.options.piece_bytes,
            *plan_.progress);
    if (plan_.half)
        co_return co_await collectives::half_all_reduce(
            *communicator_, *part_, plan_.scale, result_, options, *plan_.half,
            [this](size_t bytes, auto work) { return aside(bytes, std::move(work)); });
    co_return co_await collectives::all_reduce(*communicator_, *part_, plan_.scale, result_,
                                               options);
}

void Exchange::network_ended(const Result<>& result) {
    services_.active.remove(this);
    services_.counters.bytes_sent += traffic().bytes_sent;
    services_.counters.bytes_received += traffic().bytes_received;
    // A flat run that ends within the node ends from a poll of its own participants, which must
    // outlive that poll.
    if (sparse_ && sparse_->is_flat())
        services_.loop.defer(base::keep(shared_from_this(), [](const Exchange&) {}));
    if (!result) {
        ++services_.counters.exchanges_aborted;
        finish(result);
        return;
    }
    if (gpu_sum_) {
        commit_on_gpus();
    } else if (cut_) {
        commit_cut();
    } else {
        deliver();
    }
}

void Exchange::deliver() {
    if (waits_for_hold(&Exchange::deliver)) return;
    if (plan_.layout.bytes() == 0 || recipients_.empty()) {
        finish({});
        return;
    }
    tell_writing(plan_.marks);
    if (plan_.layout.bytes() * (recipients_.size() + 1) <= services_.options.inline_bytes_max) {
        collectives::copy_to_members(plan_.layout, result_.data(), recipients_, services_.pool);
        finish({});
        return;
    }
    collectives::copy_to_members(plan_.layout, result_.data(), recipients_, services_.pool,
                                 done_here());
}

// Ends the exchange when the pool's work, the last that was left, is done.
collectives::Notice Exchange::done_here() {
    return {services_.loop.poster(), base::keep(self_, [](Exchange& own) { own.finish({}); })};
}

void Exchange::finish(const Result<>& result) {
    const std::shared_ptr<Exchange> keep = std::move(self_);
    const Done done = std::move(done_);
    ended_ = true;
    record_end(services_, plan_, traffic().bytes_sent, result);
    if (result) tell_whole(plan_.marks);
    if (gpu_sum_) gpu_sum_->release();  // a callee may begin the next sum
    if (cut_) end_cut();
    done(*this, result);
}

void Exchange::abort(const base::Error& error) {
    if (!abort_) abort_ = error;
    if (communicator_) communicator_->abort(error);
    if (sparse_) sparse_->abort(error);
    if (gpu_sum_) gpu_sum_->abort(error);
    is_sure_now();
    wake();
}

void Exchange::peer_lost(transports::PeerId peer, const base::Error& error) {
    if (communicator_) communicator_->peer_lost(peer, error);
    if (sparse_) sparse_->peer_lost(peer, error);
    if (gpu_sum_ && communicator_ && communicator_->aborted())
        gpu_sum_->abort(communicator_->status().error());
    wake();
}

// Wakes coroutines that await the members' progress, to see whether the exchange was given up.
void Exchange::wake() {
    if (flow_) {
        const auto flow = flow_;  // outlives the exchange, which may end here
        flow->wake();
        return;
    }
    if (!plan_.progress) return;
    const auto progress = plan_.progress;  // outlives the exchange, which may end here
    progress->wake();
}

collectives::Communicator::Counters Exchange::traffic() const {
    if (sparse_ && sparse_->is_flat()) return sparse_->traffic();
    return communicator_ ? communicator_->counters() : collectives::Communicator::Counters{};
}

bool Exchange::scratch_touched() const {
    if (!communicator_) return false;
    if (plan_.kind != Kind::reduce) return true;
    return communicator_->result_begun() || (sparse_ && sparse_->result_begun());
}

}  // namespace pace::daemon
