#include "daemon/exchange/exchange.h"

#include <algorithm>

#include "daemon/collectives/barrier.h"
#include "daemon/collectives/half_all_reduce.h"
#include "daemon/collectives/piecewise.h"
#include "daemon/sparse/link_probe.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using base::Task;

namespace {

// An exchange that has not moved for this long asks the others whether they are in the same one.
constexpr base::Duration kStallNoticeable = std::chrono::milliseconds(100);

size_t bytes_touched(const Exchange::Plan& plan) {
    return plan.layout.bytes() * (plan.contributions.size() + plan.recipients.size());
}

}  // namespace

std::vector<const std::byte*> segments_of(const std::vector<BufferPtr>& buffers) {
    std::vector<const std::byte*> segments;
    segments.reserve(buffers.size());
    for (const BufferPtr& buffer : buffers) segments.push_back(buffer->memory.data());
    return segments;
}

std::vector<std::byte*> memory_of(const std::vector<BufferPtr>& buffers) {
    std::vector<std::byte*> segments;
    segments.reserve(buffers.size());
    for (const BufferPtr& buffer : buffers) segments.push_back(buffer->memory.data());
    return segments;
}

collectives::Layout layout_of(const std::vector<BufferPtr>& buffers) {
    std::vector<collectives::Segment> segments;
    segments.reserve(buffers.size());
    for (const BufferPtr& buffer : buffers) segments.push_back({buffer->dtype, buffer->count});
    return collectives::Layout(std::move(segments));
}

std::shared_ptr<Exchange> Exchange::start(Services& services, Plan plan, Scratch scratch,
                                          Done done) {
    std::shared_ptr<Exchange> exchange(
        new Exchange(services, std::move(plan), std::move(scratch), std::move(done)));
    exchange->self_ = exchange;
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
        services_.active.push_back(self_);
        services_.exchange_began();
        base::spawn<Result<>>(await_members(),
                              [this](const Result<>& result) { members_ended(result); });
        return;
    }
    if (auto joined = join_nodes(); !joined) {
        // Not from inside start(): the caller has not stored the exchange yet.
        services_.loop.defer([keep = self_, joined] { keep->finish(joined); });
        return;
    }
    services_.active.push_back(self_);
    services_.exchange_began();
    base::spawn<Result<>>(run_among_nodes(),
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
}

void Exchange::run_local() {
    const bool nothing_to_do = plan_.layout.bytes() == 0 || recipients_.empty();
    if (nothing_to_do) {
        finish({});
        return;
    }
    if (bytes_touched(plan_) <= services_.options.inline_bytes_max) {
        collectives::sum_into_members(*part_, plan_.scale, recipients_, services_.pool);
        finish({});
        return;
    }
    base::EventLoop& loop = services_.loop;
    collectives::sum_into_members(
        *part_, plan_.scale, recipients_, services_.pool,
        {[&loop](auto callback) { loop.post(std::move(callback)); }, [this] { finish({}); }});
}

Task<Result<>> Exchange::await_members() {
    while (!is_made() && !abort_) co_await plan_.progress->changed();
    if (abort_) co_return *abort_;
    co_return Result<>();
}

void Exchange::members_ended(const Result<>& result) {
    leave_active();
    if (!result) return finish(result);
    run_local();
}

Result<> Exchange::join_nodes() {
    collectives::Group group;
    group.exchange = plan_.number;
    group.check = plan_.check;
    group.self = plan_.self;
    // What goes by top-k, dense rounds among it, knows no zones.
    if (!plan_.top_k) group.zones = plan_.zones;
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
        if (i == plan_.self) {
            group.nodes.push_back(0);
            continue;
        }
        PACE_TRY_ASSIGN(peer, services_.peers.peer(plan_.nodes[i]));
        group.nodes.push_back(peer);
    }
    PACE_TRY_ASSIGN(result, scratch_.reserve(plan_.layout.bytes()));
    result_ = result;
    communicator_ =
        std::make_unique<collectives::Communicator>(services_.transport, std::move(group));
    if (!plan_.top_k) return {};
    sparse_ = std::make_unique<SparseRun>(services_, *plan_.top_k);
    return sparse_->connect(plan_.check, services_.self);
}

Task<Result<>> Exchange::run_among_nodes() {
    if (may_go_among_gpus()) {
        const Result<bool> meet = co_await meet_gpus();
        if (!meet) co_return meet.error();
        if (*meet) co_return co_await gpu_sum_->run(plan_.scale);
        gpu_sum_.reset();  // others may use the GPUs
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
    const ExchangeOptions& options = services_.options;
    switch (plan_.kind) {
        case Kind::barrier:
            co_return co_await collectives::barrier(*communicator_);
        case Kind::broadcast: {
            if (plan_.root == plan_.self) part_->partial({0, plan_.layout.bytes()}, result_.data());
            // The root sends without receiving; the barrier beside it keeps it from going on before all have
            // begun the same broadcast.
            std::vector<Task<Result<>>> both;
            both.push_back(
                collectives::broadcast(*communicator_, plan_.root, result_, options.broadcast));
            both.push_back(collectives::barrier(*communicator_));
            co_await base::when_all(std::move(both));
            co_return communicator_->status();
        }
        case Kind::fetch:
            co_return co_await collectives::transfer_from(*communicator_, plan_.root, result_,
                                                          options.transfer);
        case Kind::probe:
            co_return co_await probe();
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
        co_return co_await collectives::half_all_reduce(*communicator_, *part_, plan_.scale,
                                                        result_, options, *plan_.half);
    co_return co_await collectives::all_reduce(*communicator_, *part_, plan_.scale, result_,
                                               options);
}

Task<Result<>> Exchange::probe() {
    const Result<sparse::Link> link = co_await sparse::measure_links(*communicator_);
    if (!link) co_return link.error();
    link_ = *link;
    co_return Result<>();
}

void Exchange::leave_active() {
    std::erase_if(services_.active, [this](const std::weak_ptr<Active>& other) {
        return other.expired() || other.lock().get() == this;
    });
}

void Exchange::network_ended(const Result<>& result) {
    leave_active();
    services_.counters.bytes_sent += traffic().bytes_sent;
    services_.counters.bytes_received += traffic().bytes_received;
    // What ends within the node ends from a poll of its own participants, which must outlive that.
    if (sparse_ && sparse_->is_flat()) services_.loop.defer([keep = shared_from_this()] {});
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
    if (plan_.layout.bytes() == 0 || recipients_.empty()) {
        finish({});
        return;
    }
    if (plan_.layout.bytes() * (recipients_.size() + 1) <= services_.options.inline_bytes_max) {
        collectives::copy_to_members(plan_.layout, result_.data(), recipients_, services_.pool);
        finish({});
        return;
    }
    base::EventLoop& loop = services_.loop;
    collectives::copy_to_members(
        plan_.layout, result_.data(), recipients_, services_.pool,
        {[&loop](auto callback) { loop.post(std::move(callback)); }, [this] { finish({}); }});
}

void Exchange::finish(const Result<>& result) {
    const std::shared_ptr<Exchange> keep = std::move(self_);
    const Done done = std::move(done_);
    ended_ = true;
    if (gpu_sum_) gpu_sum_->release();  // who is told may begin the next one
    if (cut_) end_cut();
    done(*this, result);
}

void Exchange::abort(const base::Error& error) {
    if (!abort_) abort_ = error;
    if (communicator_) communicator_->abort(error);
    if (sparse_) sparse_->abort(error);
    if (gpu_sum_) gpu_sum_->abort(error);
    wake();
}

void Exchange::peer_lost(transports::PeerId peer, const base::Error& error) {
    if (communicator_) communicator_->peer_lost(peer, error);
    if (sparse_) sparse_->peer_lost(peer, error);
    if (gpu_sum_ && communicator_ && communicator_->aborted())
        gpu_sum_->abort(communicator_->status().error());
    wake();
}

// Who awaits the members' progress looks whether the exchange has been given up.
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

base::Duration Exchange::stalled_for(base::TimePoint now) {
    base::TimePoint last = communicator_ ? communicator_->last_progress() : base::TimePoint{};
    if (!is_made()) {
        // It is this node that the others wait for, at most so long.
        last = std::max(last, plan_.progress->moved());
        if (now - last > services_.options.making_deadline && !abort_)
            abort(base::make_error(ErrorKind::timeout,
                                   "a member of its group has made nothing ready for {} ms",
                                   (now - last) / std::chrono::milliseconds(1)));
        return base::Duration::zero();
    }
    if (!communicator_) return base::Duration::zero();
    if (busy_here_ || (cut_ && cut_->is_working())) {
        busy_until_ = now;
        return base::Duration::zero();
    }
    last = std::max(last, busy_until_);
    if (gpu_sum_ && gpu_sum_->running_since() != base::TimePoint{}) {
        if (abort_) return base::Duration::zero();  // NCCL lets go in its own time
        if (now - gpu_sum_->running_since() >= kStallNoticeable) listen_for_disagreement();
        return stalled_on_gpus(now);
    }
    if (sparse_) last = std::max(last, sparse_->last_progress());
    const base::Duration stalled = now - last;
    if (stalled >= kStallNoticeable) listen_for_disagreement();
    return stalled;
}

std::vector<NodeId> Exchange::waiting_for() const {
    std::vector<NodeId> nodes;
    if (!communicator_) return nodes;
    if (sparse_ && sparse_->is_flat()) return sparse_->waiting_for();
    for (const size_t index : communicator_->waiting_for()) nodes.push_back(plan_.nodes[index]);
    return nodes;
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

void Exchange::listen_for_disagreement() {
    if (listening_) return;
    listening_ = true;
    const auto disagree = [weak = weak_from_this()](bool disagrees) {
        const auto exchange = weak.lock();
        if (exchange && disagrees)
            exchange->abort(base::make_error(ErrorKind::mismatch,
                                             "another node cannot take part in this exchange as "
                                             "called here: the workers disagree about verb, "
                                             "buffers or order"));
    };
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
        if (i == plan_.self) continue;
        const transports::PeerId peer = communicator_->group().nodes[i];
        services_.transport.receive(peer, {plan_.number, kPoisonSlot, 0}, {},
                                    [disagree](const Result<>& got) { disagree(got.ok()); });
        // Two collectives that differ share no message by which they could find out.
        services_.transport.receive(peer, {plan_.number, kCallSlot, plan_.check}, {},
                                    [disagree](const Result<>& got) {
                                        disagree(!got && got.error().kind == ErrorKind::mismatch);
                                    });
        services_.transport.send(peer, {plan_.number, kCallSlot, plan_.check}, {},
                                 [](const Result<>&) {});
    }
}

void send_poison(Services& services, uint64_t number, const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes) {
        if (node == services.self) continue;
        const auto peer = services.peers.peer(node);
        if (peer)
            services.transport.send(*peer, {number, kPoisonSlot, 0}, {}, [](const Result<>&) {});
    }
}

}  // namespace pace::daemon
