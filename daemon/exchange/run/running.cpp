#include "daemon/exchange/run/running.h"

#include <utility>

#include "daemon/control/controller.h"
#include "daemon/gpu/host_twin.h"

namespace pace::daemon {

using base::Result;
using base::Task;

namespace {

std::vector<collectives::Member> members_of(const ExchangePlan& plan) {
    std::vector<collectives::Member> members;
    members.reserve(plan.contributions.size());
    for (const ExchangePlan::Contribution& contribution : plan.contributions)
        members.push_back({contribution.segments, contribution.weight});
    return members;
}

}  // namespace

Running::Running(Services& with, ExchangePlan what, Scratch memory)
    : services(with),
      plan(std::move(what)),
      scratch(std::move(memory)),
      part(plan.layout, members_of(plan)) {
    for (const auto& buffers : plan.recipients) recipients.push_back({memory_of(buffers)});
    if (!plan.copy_to.empty()) recipients.push_back({plan.copy_to});
}

Result<> Running::join_nodes() {
    collectives::Group group;
    group.exchange = plan.number;
    group.check = plan.check;
    group.self = plan.self;
    // Reductions by top-k, including their dense rounds, know no zones.
    if (!plan.top_k) group.zones = plan.zones;
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
        if (i == plan.self) {
            group.nodes.push_back(0);
            continue;
        }
        PACE_TRY_ASSIGN(peer, services.peers.peer(plan.nodes[i]));
        group.nodes.push_back(peer);
    }
    PACE_TRY(place_result());
    communicator =
        std::make_unique<collectives::Communicator>(services.transport, std::move(group));
    if (!plan.top_k) return {};
    sparse = std::make_unique<SparseRun>(services, *plan.top_k, services.payer_of(plan.job));
    return sparse->connect(plan.check, services.self);
}

Result<> Running::place_result() {
    const size_t bytes = plan.layout.bytes();
    if (!plan.formed_by) {
        PACE_TRY_ASSIGN(memory, scratch.reserve(bytes, services.payer_of(plan.job)));
        result = memory;
        return {};
    }
    const size_t place = *plan.formed_by;
    result = {recipients[place].segments.front(), bytes};
    recipients.erase(recipients.begin() + static_cast<ptrdiff_t>(place));
    tell_writing(plan.marks[place]);
    ++services.counters.averages_in_results;
    return {};
}

void Running::abort(const base::Error& error) {
    if (!abort_) abort_ = error;
    if (communicator) communicator->abort(error);
    if (sparse) sparse->abort(error);
    is_sure_now();
    wake_members();
}

void Running::peer_lost(transports::PeerId peer, const base::Error& error) {
    if (communicator) communicator->peer_lost(peer, error);
    if (sparse) sparse->peer_lost(peer, error);
    wake_members();
}

Task<Result<>> Running::contents_on_host() {
    // Outlives this coroutine, which may find no memory while some contents are coming.
    struct Coming {
        size_t members = 1;  // this function is one
        bool ended = false;
        Result<> came;
    };
    if (plan.on_device.empty()) co_return Result<>();
    if (const Result<> there = co_await twins_there(); !there) co_return there;
    const auto coming = std::make_shared<Coming>();
    for (const DeviceMember& member : plan.on_device) {
        if (member.contents->on_host) continue;
        ++coming->members;
        member.contents->bring([keep = shared_from_this(), coming](const Result<>& got) {
            if (!got && coming->came) coming->came = got;
            coming->ended = --coming->members == 0;
            if (coming->ended) keep->changed_.notify();
        });
    }
    coming->ended = --coming->members == 0;
    if (!coming->ended) co_await until(coming->ended);
    if (!coming->came) contents_lost = !abort_;
    if (coming->came && abort_) co_return *abort_;
    co_return coming->came;
}

Task<Result<>> Running::twins_there() {
    std::vector<BufferPtr> buffers;
    for (const DeviceMember& member : plan.on_device) {
        const std::vector<BufferPtr>& its = member.contents->buffers;
        if (!have_twins(its)) buffers.insert(buffers.end(), its.begin(), its.end());
    }
    if (buffers.empty()) co_return Result<>();
    TwinMaker maker(std::move(buffers));
    co_await in_pool([&maker] { (void)maker.make_all(); });
    if (maker.made() && abort_) co_return *abort_;
    co_return maker.made();
}

Task<Result<>> Running::members_ready() {
    while (!plan.is_made() && !abort_) co_await plan.progress->changed();
    if (abort_) co_return *abort_;
    co_return Result<>();
}

// Wakes coroutines that await the members' progress, to see whether the exchange was given up.
void Running::wake_members() {
    if (!plan.progress) return;
    const auto progress = plan.progress;  // outlives the exchange, which may end here
    progress->wake();
}

Task<> Running::free_to_write() {
    while (plan.hold && plan.hold->is_held()) {
        bool free = false;
        plan.hold->when_free(ends(free));
        co_await until(free);
    }
}

// The other nodes may have given up this node, and redo the round without it. A result that this
// node still put together from their messages is then nobody's result, and the node is told to stop
// before it is told that all is well. Groups need no such wait, as they commit member by member;
// nor does a fetch, whose result another node has committed.
Task<Result<>> Running::sure(Result<> got) {
    Doubt& doubt = services.control.doubt();
    const bool may_be_redone = plan.patient && plan.kind != ExchangePlan::Kind::fetch;
    if (!got || !may_be_redone || !doubt.is_at(base::now_through_sleep())) co_return got;
    is_sure_ = false;
    doubt.when_sure(base::now_through_sleep(), [weak = weak_from_this()] {
        if (const auto own = weak.lock()) own->is_sure_now();
    });
    co_await until(is_sure_);
    if (abort_) co_return *abort_;
    co_return got;
}

void Running::is_sure_now() {
    if (std::exchange(is_sure_, true)) return;
    // Not from inside abort(), whose caller may own the exchange.
    services.loop.defer(
        base::keep(shared_from_this(), [](Running& own) { own.changed_.notify(); }));
}

base::Callback Running::ends(bool& ended) {
    return base::keep(shared_from_this(), [&ended](Running& own) {
        ended = true;
        own.changed_.notify();
    });
}

Task<> Running::until(const bool& ended) {
    busy_ = true;
    while (!ended) co_await changed_.changed();
    busy_ = false;
    busy_until_ = base::now();
}

base::TimePoint Running::busy_until(base::TimePoint now, bool works) {
    if (busy_ || works) busy_until_ = now;
    return busy_until_;
}

Task<> Running::in_pool(std::function<void()> work) {
    return aside(SIZE_MAX, std::move(work));
}

Task<> Running::aside(size_t bytes, std::function<void()> work) {
    bool ended = false;
    bool had_memory = false;
    services.aside().run(
        bytes, [&had_memory, &work] { had_memory = base::attempt(work); }, ends(ended));
    co_await until(ended);
    if (!had_memory) throw std::bad_alloc();  // the exchange ends with this
}

Task<> Running::in_pieces(const std::function<void(collectives::Notice)>& begin) {
    bool ended = false;
    begin({services.loop.poster(), ends(ended)});
    co_await until(ended);
}

Task<Result<>> Running::deliver() {
    co_await free_to_write();
    if (plan.layout.bytes() == 0 || recipients.empty()) co_return Result<>();
    tell_writing(plan.marks);
    if (plan.layout.bytes() * (recipients.size() + 1) <= services.options.inline_bytes_max) {
        collectives::copy_to_members(plan.layout, result.data(), recipients, services.pool);
        co_return Result<>();
    }
    co_await in_pieces([this](collectives::Notice notice) {
        collectives::copy_to_members(plan.layout, result.data(), recipients, services.pool,
                                     std::move(notice));
    });
    co_return Result<>();
}

collectives::Communicator::Counters Running::traffic() const {
    if (sparse && sparse->is_flat()) return sparse->traffic();
    return communicator ? communicator->counters() : collectives::Communicator::Counters{};
}

bool Running::scratch_touched() const {
    if (!communicator) return false;
    if (plan.kind != ExchangePlan::Kind::reduce) return true;
    return communicator->result_begun() || (sparse && sparse->result_begun());
}

}  // namespace pace::daemon
