#include "service/simulator/runs/simulation.h"

#include <algorithm>
#include <utility>

#include "base/each_once.h"
#include "service/controller/vocabulary/options.h"
#include "service/simulator/timing/virtual_time.h"

namespace pace::simulator {

using controller::GroupOrder;
using controller::Policy;
using controller::Rank;

namespace {

// All workers average the same buffers.
constexpr uint32_t kDigest = 1;

// The core's own deadlines are a few seconds. Here nodes get a century.
constexpr Duration kLongestWait = std::chrono::hours(24) * 365;
constexpr Duration kNodesPatience = std::chrono::hours(24) * 365 * 100;

// No daemon sends heartbeats here, and no daemon becomes silent.
controller::CoreOptions core_options(const Scenario& scenario) {
    controller::CoreOptions options;
    options.seed = scenario.seed;
    options.liveness_max = options.liveness_min = kNodesPatience;
    return options;
}

Duration way_to_core(const Scenario& scenario, Policy policy) {
    return policy == Policy::prague_static ? Duration{} : to_duration(scenario.controller_s / 2);
}

// Whether groups may be named that must still wait for earlier groups of their members. This is not
// the case if groups form of waiting workers, or if each worker is in one group per turn.
bool has_conflicts(Policy policy) {
    return policy != Policy::partial_reduce && policy != Policy::automatic &&
           policy != Policy::prague_static;
}

}  // namespace

Simulation::Simulation(const Scenario& scenario, const Candidate& candidate)
    : scenario_(scenario),
      candidate_(candidate),
      options_(options_of(scenario, candidate)),
      core_(core_options(scenario), [] { return uint64_t{1}; }),
      steps_(scenario),
      costs_(scenario),
      shares_(costs_.channels()),
      disagreement_(scenario.world(), scenario.seed),
      half_way_(way_to_core(scenario, candidate.policy)),
      meter_(scenario.world(), scenario.steps, now_),
      node_ids_(scenario.nodes.size()),
      trainers_(scenario.world()) {
    if (candidate.policy == Policy::prague_static) static_.emplace(scenario);
}

base::Result<Outcome> Simulation::run() {
    PACE_TRY(join_all());
    for (Rank rank = 0; rank < scenario_.world(); ++rank) compute(rank);
    while (!meter_.is_full()) {
        if (!advance())
            return base::make_error(base::ErrorKind::internal,
                                    "policy {} with groups of {} came to a standstill; this is a "
                                    "defect of Pace, please report it with your file",
                                    name_of(options_.policy), options_.group_size);
    }
    return meter_.outcome();
}

// ---------------------------------------------------------------------------------------- the core

base::Result<> Simulation::join_all() {
    controller::Actions actions;
    for (uint32_t node = 0; node < scenario_.nodes.size(); ++node) {
        actions.clear();
        core_.handle(
            controller::Hello{
                0, fmt::format("node{}", node), node + 1, {}, "", 0, 0, scenario_.nodes[node].zone},
            now_, actions);
        for (const controller::Action& action : actions)
            if (const auto* attached = std::get_if<controller::Attached>(&action))
                node_ids_[node] = attached->node;
    }
    for (Rank rank = 0; rank < scenario_.world(); ++rank) {
        actions.clear();
        const controller::NodeId node = node_ids_[scenario_.workers[rank].node];
        core_.handle(controller::from(node, controller::WorkerJoin{rank, rank, options_}), now_,
                     actions);
        for (const controller::Action& action : actions) {
            if (const auto* refused = std::get_if<controller::To<controller::JoinRefused>>(&action))
                return refused->error;
            if (const auto* accepted =
                    std::get_if<controller::To<controller::JoinAccepted>>(&action))
                job_ = accepted->job;
        }
        answer_views(actions);
    }
    return {};
}

void Simulation::handle(const controller::Event& event) {
    controller::Actions actions;
    core_.handle(event, now_, actions);
    for (const controller::Action& action : actions)
        if (const auto* order = std::get_if<controller::To<controller::GroupOrder>>(&action))
            take_order(*order);
    answer_views(actions);
}

void Simulation::answer_views(const controller::Actions& actions) {
    for (const controller::Action& action : actions)
        if (const auto* prepare = std::get_if<controller::To<controller::PrepareView>>(&action))
            handle(controller::from(prepare->to.front(),
                                    controller::ViewPrepared{prepare->job, prepare->epoch, 0}));
}

// -------------------------------------------------------------------------------------------- time

void Simulation::at(TimePoint when, What what, uint32_t id) {
    events_.push({when, next_order_++, what, id});
}

// Lets the next event happen. Returns false if there are no events any more.
bool Simulation::advance() {
    const TimePoint event = events_.empty() ? TimePoint::max() : events_.top().when;
    const TimePoint moved = shares_.next_end().value_or(TimePoint::max());
    const TimePoint deadline = core_.next_deadline().value_or(TimePoint::max());
    const TimePoint next = std::min({event, moved, deadline});
    if (next == deadline && deadline - now_ > kLongestWait) return false;
    now_ = std::max(now_, next);
    if (deadline == next) {
        handle(controller::Tick{});
    } else if (moved == next) {
        go_on(shares_.end_next());
    } else {
        const Event happens = events_.top();
        events_.pop();
        carry_out(happens);
    }
    return true;
}

void Simulation::carry_out(const Event& event) {
    switch (event.what) {
        case What::signal: {
            if (static_) return call(event.id);
            const Trainer& trainer = trainers_[event.id];
            handle(controller::from(node_ids_[scenario_.workers[event.id].node],
                                    controller::Ready{job_, event.id, trainer.iteration, kDigest}));
            return;
        }
        case What::begin:
            return begin(event.id);
        case What::end:
            return end(event.id);
        case What::done:
            return report_done(event.id);
    }
}

// ------------------------------------------------------------------------------------ the trainers

void Simulation::compute(Rank rank) {
    Trainer& trainer = trainers_[rank];
    trainer.distance = disagreement_.distance(rank);
    trainer.computing = to_duration(steps_.next_s(rank));
    trainer.signalled = now_ + trainer.computing;
    ++trainer.iteration;
    at(trainer.signalled + half_way_, What::signal, rank);
}

// Called when a worker has computed. If all members of its static group have computed as often, the
// group is complete.
void Simulation::call(Rank rank) {
    const std::vector<Rank> members = static_->call(rank);
    if (members.empty()) return;
    GroupOrder order;
    order.iteration = trainers_[rank].iteration;
    for (const Rank member : members)
        order.members.push_back({member, node_ids_[scenario_.workers[member].node], order.iteration,
                                 1.0 / static_cast<double>(members.size())});
    take_order(order);
}

// A conflict: a worker was ready, but the group that was named for it had to wait until another of
// its members had finished an earlier group.
void Simulation::take_order(const GroupOrder& order) {
    if (free_exchanges_.empty()) {
        free_exchanges_.push_back(static_cast<uint32_t>(exchanges_.size()));
        exchanges_.emplace_back();
    }
    const uint32_t id = free_exchanges_.back();
    free_exchanges_.pop_back();
    std::vector<Rank> ranks;
    TimePoint last_busy{};
    for (const controller::Part& part : order.members) {
        ranks.push_back(part.rank);
        last_busy = std::max(last_busy, trainers_[part.rank].ended);
    }
    const bool names_ahead = has_conflicts(options_.policy);
    for (const Rank rank : ranks)
        trainers_[rank].had_conflict = names_ahead && last_busy > trainers_[rank].signalled;
    exchanges_[id] = {order, costs_.cost_of(ranks, candidate_), {}, false, {}};
    at(now_ + half_way_, What::begin, id);
}

void Simulation::begin(uint32_t id) {
    Exchange& exchange = exchanges_[id];
    exchange.began = now_;
    if (exchange.cost.summing.uses.empty()) return at(now_, What::end, id);
    shares_.begin(id, exchange.cost.summing, now_);
}

// Goes on after a stage has ended.
void Simulation::go_on(uint32_t id) {
    Exchange& exchange = exchanges_[id];
    if (exchange.is_moving || exchange.cost.moving.uses.empty())
        return at(now_ + to_duration(exchange.cost.latency_s), What::end, id);
    exchange.is_moving = true;
    shares_.begin(id, exchange.cost.moving, now_);
}

void Simulation::end(uint32_t id) {
    Exchange& exchange = exchanges_[id];
    exchange.took = now_ - exchange.began;
    std::vector<Rank> ranks;
    for (const controller::Part& part : exchange.order.members) {
        ranks.push_back(part.rank);
        disagreement_.step(part.rank);
    }
    disagreement_.average(exchange.order.members);
    meter_.add_group(std::move(ranks));
    for (const controller::Part& part : exchange.order.members) {
        Trainer& trainer = trainers_[part.rank];
        meter_.add({part.rank, now_, trainer.computing, exchange.began - trainer.signalled,
                    now_ - exchange.began, trainer.had_conflict,
                    exchange.order.iteration - part.iteration, trainer.distance});
        trainer.ended = now_;
        trainer.iteration = exchange.order.iteration;
    }
    for (const controller::Part& part : exchange.order.members) compute(part.rank);
    if (!static_) return at(now_ + half_way_, What::done, id);
    free_exchanges_.push_back(id);
}

void Simulation::report_done(uint32_t id) {
    std::vector<controller::NodeId> nodes;
    for (const controller::Part& part : exchanges_[id].order.members) nodes.push_back(part.node);
    base::sort_each_once(nodes);
    const controller::GroupId group = exchanges_[id].order.group;
    const auto moving_ns = static_cast<uint64_t>(exchanges_[id].took.count());
    const auto bytes = static_cast<uint64_t>(exchanges_[id].cost.moving.bytes);
    free_exchanges_.push_back(id);
    for (const controller::NodeId node : nodes)
        handle(controller::from(node, controller::GroupDone{job_, group, false, moving_ns, bytes}));
}

}  // namespace pace::simulator
