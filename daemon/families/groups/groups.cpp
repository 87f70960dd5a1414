#include "daemon/families/groups/groups.h"

#include <algorithm>
#include <map>
#include <new>

#include "base/attempt.h"
#include "daemon/control/controller.h"
#include "daemon/members/alike.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// How long the buffers of a dead trainer are kept for an order that was already under way.
constexpr base::Duration kDepartedKeep = std::chrono::seconds(2);
// A group that failed because of a cut connection is not tried again before.
constexpr base::Duration kCutPause = std::chrono::milliseconds(300);

// Equal weights are applied as one division at the end: fewer roundings, and a sum without
// multiplications.
bool weights_are_equal(const control::GroupOrder& order) {
    if (order.initial_weight != 0) return false;
    const double first = order.members.front().weight;
    return std::all_of(order.members.begin(), order.members.end(),
                       [first](const control::Part& part) { return part.weight == first; });
}

size_t most_on_a_node(const control::GroupOrder& order) {
    std::map<NodeId, size_t> counts;
    size_t most = 0;
    for (const control::Part& part : order.members) most = std::max(most, ++counts[part.node]);
    return most;
}

std::shared_ptr<MemberList> members_of(const control::GroupOrder& order) {
    auto members = std::make_shared<MemberList>();
    uint64_t newest = 0;
    for (const control::Part& part : order.members) newest = std::max(newest, part.iteration);
    for (const control::Part& part : order.members)
        members->push_back({part.rank, 0, newest - part.iteration, part.weight});
    return members;
}

// Where the layout's segments are in memory that holds them one after the other.
std::vector<const std::byte*> segments_of(const Scratch& memory,
                                          const collectives::Layout& layout) {
    std::vector<const std::byte*> segments;
    for (size_t i = 0; i < layout.segments().size(); ++i)
        segments.push_back(memory.data() + layout.offset(i));
    return segments;
}

// How the worker's request ended; who the members were is not in it yet.
Ending ending_of(const control::GroupOrder& order, const Worker& worker, const Exchange& exchange,
                 uint64_t now_ns) {
    Ending ending;
    ending.iteration = worker.iteration;
    ending.group = order.group;
    ending.bytes_sent = exchange.traffic().bytes_sent;
    ending.bytes_received = exchange.traffic().bytes_received;
    ending.queued_ns = worker.queued_ns();
    ending.moving_ns = now_ns - worker.moving_since_ns;
    ending.initial_weight = order.initial_weight;
    ending.nodes = static_cast<uint32_t>(exchange.plan().nodes.size());
    return ending;
}

}  // namespace

std::vector<NodeId> Groups::nodes_of(const control::GroupOrder& order) {
    std::vector<NodeId> nodes;
    for (const control::Part& part : order.members) {
        if (std::find(nodes.begin(), nodes.end(), part.node) == nodes.end())
            nodes.push_back(part.node);
    }
    return nodes;
}

std::vector<uint32_t> Groups::of_nodes(const control::GroupOrder& order,
                                       const std::vector<NodeId>& nodes,
                                       uint32_t control::Part::*fact) {
    std::vector<uint32_t> facts;
    for (const NodeId node : nodes) {
        const auto first =
            std::find_if(order.members.begin(), order.members.end(),
                         [node](const control::Part& part) { return part.node == node; });
        facts.push_back((*first).*fact);
    }
    return facts;
}

uint64_t Groups::number_of(const control::GroupOrder& order) const {
    const uint64_t token = are_static() ? static_token_ : job_.token;
    return exchange_number(token, ExchangeKind::group, order.group, 0);
}

void Groups::called(const WorkerPtr& worker) {
    const Request& head = worker->head();
    const bool as_announced = worker->announced && worker->announced->iteration == head.iteration &&
                              worker->announced->digest == head.digest;
    if (!as_announced) take_back(*worker);
    worker->announced.reset();
    worker->average_digest = head.digest;
    worker->state = Worker::State::ready;
    // The buffers hold the model, even if it was not broadcast: the worker's daemon may have been
    // restarted.
    if (worker->model.empty()) worker->model = head.buffers;
    if (are_static()) {
        // A static group's members are in no other group before it has met, so an early begin gains
        // nothing.
        worker->lagging = !head.is_made();
        begin_static(*worker);
        return;
    }
    signal(*worker, as_announced ? control::ReadyStage::arrived : control::ReadyStage::called);
    run_held(*worker);
}

void Groups::signal(Worker& worker, control::ReadyStage stage) {
    if (worker.lagging) return;
    const Request& head = worker.head();
    // Dropped while there is no controller; announced again when there is one.
    job_.services.control->send(
        control::Ready{job_.id, worker.rank, head.iteration, head.digest, stage});
    if (worker.withdrawing) withdraw(worker);
}

bool Groups::has_cut(const std::vector<NodeId>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [this](NodeId node) { return job_.services.peers.is_cut(node); });
}

// The worker was suspended, or left behind with this node, in the midst of an exchange: its place
// is asked for anew.
void Groups::ask_again(const WorkerPtr& worker) {
    worker->state = Worker::State::idle;
    job_.port->advance(worker);
}

// Signals after a pause: the controller would name the same group, until it knows of the cut and
// what to do about it.
void Groups::signal_later(const WorkerPtr& worker) {
    pauses_[worker->rank] =
        job_.services.loop.run_after(kCutPause, [this, weak = std::weak_ptr(worker)] {
            const WorkerPtr waiting = weak.lock();
            if (!waiting || waiting->port == nullptr) return;
            if (waiting->state == Worker::State::ready)
                signal(*waiting, control::ReadyStage::called);
        });
}

void Groups::withdraw(Worker& worker) {
    if (are_static() || worker.lagging) {
        withdrawn(worker.rank);
        return;
    }
    worker.withdrawing = true;
    job_.services.control->send(control::Withdraw{.job = job_.id, .rank = worker.rank});
}

void Groups::withdrawn(control::Rank rank) {
    const WorkerPtr worker = job_.find(rank);
    if (worker && worker->state == Worker::State::ready)
        job_.end_head(worker,
                      ended_as(protocol::Outcome::canceled, "canceled before a group had formed"));
}

void Groups::departed(const WorkerPtr& worker) {
    auto expiry = job_.services.loop.run_after(kDepartedKeep, [this, gone = worker.get()] {
        std::erase_if(departed_, [&](const Departed& other) { return other.worker.get() == gone; });
    });
    departed_.push_back({worker, std::move(expiry)});
}

WorkerPtr Groups::claim(const control::Part& part, uint32_t digest) {
    const auto fits = [&](const WorkerPtr& worker) {
        return worker && worker->rank == part.rank && worker->state == Worker::State::ready &&
               worker->head().iteration == part.iteration && worker->head().digest == digest;
    };
    WorkerPtr worker = job_.find(part.rank);
    if (fits(worker)) return worker;
    const auto gone =
        std::find_if(departed_.begin(), departed_.end(),
                     [&fits](const Departed& departed) { return fits(departed.worker); });
    if (gone == departed_.end()) return nullptr;
    worker = std::move(gone->worker);
    departed_.erase(gone);
    return worker;
}

void Groups::order(const control::GroupOrder& order) {
    if (is_early(order)) {
        hold(order);
        return;
    }
    std::vector<WorkerPtr> members;
    bool complete = true;
    for (const control::Part& part : order.members) {
        if (part.node != job_.services.self) continue;
        WorkerPtr worker = claim(part, order.digest);
        complete = complete && worker != nullptr;
        if (worker) members.push_back(std::move(worker));
    }
    Exchange::Plan plan;
    if (!complete || members.empty())
        return refuse(order, members, "a worker that it names waits for no such group here");
    if (running_.contains(order.group)) return refuse(order, members, "it is under way already");
    if (const WorkerPtr unlike = first_unlike(members)) {
        tell_refused(order, "workers on one node have called different averages");
        end_members(members, unlike_calls(*members.front(), *unlike));
        return;
    }
    if (!plan_group(order, members, plan))
        return refuse(order, members, "the initial model that it weighs was not broadcast here");
    run(order, members, std::move(plan));
}

bool Groups::plan_group(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                        Exchange::Plan& ret_plan) const {
    ret_plan.job = job_.id;
    ret_plan.hold = job_.hold;
    ret_plan.what = fmt::format("group {}", order.group);
    ret_plan.patient = false;
    ret_plan.number = number_of(order);
    ret_plan.nodes = nodes_of(order);
    ret_plan.zones = of_nodes(order, ret_plan.nodes, &control::Part::zone);
    ret_plan.nccl = of_nodes(order, ret_plan.nodes, &control::Part::nccl);
    ret_plan.self = static_cast<size_t>(
        std::find(ret_plan.nodes.begin(), ret_plan.nodes.end(), job_.services.self) -
        ret_plan.nodes.begin());
    ret_plan.check = order.digest;
    ret_plan.layout = layout_of(members.front()->head().buffers);
    const bool equal = weights_are_equal(order);
    if (equal) ret_plan.scale = order.members.front().weight;
    std::optional<size_t> apart;  // the first that has its result in other buffers
    size_t next = 0;
    for (const control::Part& part : order.members) {
        if (part.node != job_.services.self) continue;
        const Request& request = members[next++]->head();
        const double weight = equal ? 1.0 : part.weight;
        ret_plan.contributions.push_back({segments_of(request.buffers), weight});
        if (request.contents) ret_plan.on_device.push_back({request.contents, weight});
        ret_plan.keep.insert(ret_plan.keep.end(), request.buffers.begin(), request.buffers.end());
        ret_plan.recipients.push_back(request.destination());
        ret_plan.marks.push_back(request.mark);
        if (!request.results.empty() && !apart) apart = ret_plan.recipients.size() - 1;
    }
    if (apart && ret_plan.may_form_at(*apart)) ret_plan.formed_by = apart;
    if (equal) ret_plan.make_room(most_on_a_node(order));
    ret_plan.progress = progress_of(members, ret_plan.layout);
    if (order.initial_weight == 0 || ret_plan.self != 0) return true;
    // The first node contributes the initial model.
    if (!job_.has_initial(members.front()->head().buffers)) return false;
    ret_plan.keep_memory = job_.initial.memory;
    ret_plan.contributions.push_back(
        {segments_of(*job_.initial.memory, ret_plan.layout), order.initial_weight});
    return true;
}

void Groups::run(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                 Exchange::Plan plan) {
    const uint64_t now = base::now_ns();
    for (const WorkerPtr& worker : members) worker->begin_moving(now);
    // A worker alone keeps its own model: there is nothing to compute.
    const bool alone = order.members.size() == 1 && order.initial_weight == 0 &&
                       members.front()->head().results.empty();
    if (alone) plan.recipients.clear();
    if (alone) plan.marks.clear();
    const bool begun = base::attempt([&] {
        if (plan.progress) moving_.push_back({order.group, plan.progress, members});
        job_.port->group_begins(plan.nodes);
        auto exchange = Exchange::start(
            job_.services, std::move(plan), spare_memory(),
            job_.scope.bind([this, order, members](Exchange& done, const Result<>& result) {
                ended(order, members, done, result);
            }));
        if (exchange->ended()) return;
        for (const WorkerPtr& worker : members) worker->exchange = exchange;
        running_.emplace(order.group, std::move(exchange));
    });
    if (begun) return;
    // No exchange moves the members: whoever catches the exception ends their requests.
    std::erase_if(moving_, [&](const Moving& other) { return other.group == order.group; });
    for (const WorkerPtr& worker : members)
        if (worker->state == Worker::State::moving) worker->wait_again(Worker::State::ready);
    forget(order);
    throw std::bad_alloc();
}

// Memory of a group that has ended; or of a round, which reserves memory again when it needs some.
Scratch Groups::spare_memory() {
    Scratch memory;
    if (spare_.empty()) {
        memory = job_.port->round_memory();
    } else {
        memory = std::move(spare_.back());
        spare_.pop_back();
    }
    return memory;
}

void Groups::ended(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                   Exchange& exchange, const Result<>& result) {
    running_.erase(order.group);
    std::erase_if(moving_, [&](const Moving& other) { return other.group == order.group; });
    if (exchange.plan().nodes.size() > 1) spare_.push_back(exchange.take_scratch());
    const uint64_t now = base::now_ns();
    if (!are_static()) tell_done(order, members.front(), exchange, result);
    if (!result) log_failure(order, exchange, result.error());
    // There would be no more memory for the next group either.
    const bool is_over =
        !result && (exchange.contents_lost() || result.error().kind == ErrorKind::memory);
    if (is_over && are_static()) ask_for_view(members);
    if (is_over) {
        for (const WorkerPtr& worker : members) job_.end_head(worker, failed(result.error()));
        return;
    }
    if (!result && are_static()) {
        failed_static(members, result.error(), exchange.unlike());
        return;
    }
    if (!result) {
        try_again(members, exchange.plan().nodes);
        return;
    }
    ++job_.services.counters.groups;
    if (are_static()) note_ended(order, members, exchange);
    const control::GroupOrder known = are_static() ? with_iterations(order, exchange) : order;
    const auto list = members_of(known);
    for (const WorkerPtr& worker : members) {
        worker->iteration = known.iteration;
        worker->times.met(exchange.met());
        note_model(*worker);
        Ending ending = ending_of(order, *worker, exchange, now);
        ending.members = list;
        job_.end_head(worker, std::move(ending));
    }
}

// The group has failed: its members wait for another one.
void Groups::try_again(const std::vector<WorkerPtr>& members, const std::vector<NodeId>& nodes) {
    for (const WorkerPtr& worker : members) {
        worker->wait_again(Worker::State::ready);
        if (!worker->head().is_made()) fall_behind(*worker);
        if (worker->port == nullptr) continue;
        if (worker->newcomer) {
            ask_again(worker);
        } else if (has_cut(nodes)) {
            signal_later(worker);
        } else {
            signal(*worker, control::ReadyStage::called);
        }
    }
}

void Groups::tell_done(const control::GroupOrder& order, const WorkerPtr& first,
                       const Exchange& exchange, const Result<>& result) {
    control::GroupDone done;
    done.job = job_.id;
    done.group = order.group;
    done.failed = !result;
    if (!result) done.reason = result.error().message;
    done.moving_ns = base::now_ns() - first->moving_since_ns;
    done.bytes = exchange.traffic().bytes_sent;
    job_.services.control->send(done);
}

}  // namespace pace::daemon
