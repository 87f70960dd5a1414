#include "world.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace pace::simulation {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

base::Random tokens(99);

// A world is a function of its scenario alone: a world before it changes none of its numbers.
std::unique_ptr<Core> first_core() {
    tokens = base::Random(99);
    return std::make_unique<Core>(CoreOptions{}, next_token);
}

// A planned group may take in some workers that would otherwise be alone.
uint32_t largest_group(const JobOptions& options) {
    return options.policy == Policy::partial_reduce ? options.group_size : options.world;
}

}  // namespace

uint64_t next_token() {
    return tokens.next() | 1U;
}

World::World(const Scenario& scenario)
    : scenario_(scenario),
      random_(scenario.seed),
      checker_(scenario.job.world, largest_group(scenario.job), std::chrono::seconds(5)),
      core_(first_core()),
      end_(now_ + scenario.length),
      trainers_(scenario.job.world) {
    checker_.allow_only(scenario.job.edges);
    const uint32_t nodes = (scenario.job.world + scenario.per_node - 1) / scenario.per_node;
    for (uint32_t node = 0; node < nodes; ++node) {
        daemons_.emplace_back();
        daemons_.back().name = fmt::format("node{}", node);
        if (scenario.zones > 0) daemons_.back().zone = fmt::format("zone{}", node % scenario.zones);
    }
    for (Rank rank = 0; rank < trainers_.size(); ++rank) {
        Trainer& trainer = trainers_[rank];
        trainer.node = rank / scenario.per_node;
        trainer.step_ns = static_cast<double>(scenario.step.count()) *
                          (1 + (scenario.spread - 1) * random_.uniform());
        trainer.phase = Phase::joining;
        daemons_[trainer.node].ranks.push_back(rank);
    }
}

// -------------------------------------------------------------------------------------------- time

void World::at(TimePoint when, std::function<void()> run) {
    tasks_.push({when, order_++, std::move(run)});
}

Duration World::uniform(Duration least, Duration most) {
    return least + Duration(static_cast<int64_t>(
                       random_.below(static_cast<uint64_t>((most - least).count()) + 1)));
}

// Runs at exponentially distributed intervals.
void World::every(Duration mean, const std::function<void()>& run) {
    if (mean.count() == 0) return;
    const double factor = -std::log(1 - random_.uniform());
    after(Duration(static_cast<int64_t>(static_cast<double>(mean.count()) * factor)),
          [this, mean, run] {
              run();
              every(mean, run);
          });
}

void World::run() {
    for (size_t node = 0; node < daemons_.size(); ++node) attach(node);
    const Faults& f = scenario_.faults;
    every(f.trainer_dies, [this] { kill_trainer(random_rank(), false); });
    every(f.trainer_leaves, [this] { kill_trainer(random_rank(), true); });
    every(f.trainer_freezes, [this] { freeze_trainer(random_rank()); });
    every(f.node_dies, [this] { kill_node(random_.below(daemons_.size())); });
    every(f.controller_restarts, [this] { restart_controller(); });
    while (!tasks_.empty() && tasks_.top().when <= end_) {
        now_ = tasks_.top().when;
        const std::function<void()> run = tasks_.top().run;
        tasks_.pop();
        run();
    }
    now_ = end_;
    checker_.at_end(now_);
}

void World::schedule_tick() {
    const auto deadline = core_->next_deadline();
    if (!deadline || *deadline >= tick_at_) return;
    tick_at_ = std::max(now_, *deadline);
    at(tick_at_, [this, when = tick_at_, life = controller_life_] {
        if (when != tick_at_ || life != controller_life_) return;
        tick_at_ = TimePoint::max();
        handle(Tick{});
    });
}

// ---------------------------------------------------------------------------------------- messages

void World::up(size_t node, Event event) {
    Daemon& daemon = daemons_[node];
    daemon.up_last = std::max(daemon.up_last, now_ + uniform(microseconds(20), microseconds(200)));
    at(daemon.up_last, [this, event = std::move(event), life = controller_life_] {
        if (controller_up_ && life == controller_life_) handle(event);
    });
}

void World::down(NodeId id, std::function<void(size_t)> run) {
    const size_t node = index_of(id);
    Daemon& daemon = daemons_[node];
    daemon.down_last =
        std::max(daemon.down_last, now_ + uniform(microseconds(20), microseconds(200)));
    at(daemon.down_last, [this, node, life = daemon.life, run = std::move(run)] {
        if (daemons_[node].alive && daemons_[node].life == life) run(node);
    });
}

size_t World::index_of(NodeId id) const {
    return index_of_.at(id);
}

void World::handle(const Event& event) {
    checker_.before(event, now_);
    actions_.clear();
    core_->handle(event, now_, actions_);
    for (const Action& action : actions_) {
        checker_.after(action, now_);
        dispatch(action);
    }
    schedule_tick();
}

void World::dispatch(const Action& action) {
    if (const auto* append = std::get_if<JournalAppend>(&action))
        journal_.push_back(append->record);
    if (const auto* attached = std::get_if<controller::Attached>(&action)) send_attached(*attached);
    if (const auto* excluded = std::get_if<Excluded>(&action)) {
        down(excluded->node, [this](size_t node) {
            detach(node);
            attach(node);
        });
    }
    if (const auto* probe = std::get_if<To<Probe>>(&action)) {
        down(probe->to.front(),
             [this, id = probe->to.front()](size_t node) { up(node, NodeHeard{id}); });
    }
    if (const auto* accepted = std::get_if<To<JoinAccepted>>(&action)) {
        down(accepted->to.front(),
             [this, accepted = *accepted](size_t node) { on_accepted(node, accepted); });
    }
    if (const auto* refused = std::get_if<To<JoinRefused>>(&action)) {
        down(refused->to.front(), [this, rank = static_cast<Rank>(refused->request)](size_t) {
            after(milliseconds(100), [this, rank] { join(rank); });
        });
    }
    if (const auto* prepare = std::get_if<To<PrepareView>>(&action)) {
        down(prepare->to.front(), [this, p = *prepare](size_t node) {
            up(node, from(p.to.front(), ViewPrepared{p.job, p.epoch, 0}));
        });
    }
    if (const auto* commit = std::get_if<To<CommitView>>(&action)) {
        for (const NodeId addressee : commit->to)
            down(addressee,
                 [this, view = CommitView(*commit)](size_t node) { on_view(node, view); });
    }
    if (const auto* order = std::get_if<To<GroupOrder>>(&action)) send_order(*order);
    if (const auto* abort = std::get_if<To<GroupAbort>>(&action)) {
        down(abort->to.front(),
             [this, group = abort->group](size_t node) { fail_part(node, group); });
    }
}

void World::send_attached(const controller::Attached& attached) {
    for (size_t node = 0; node < daemons_.size(); ++node)
        if (daemons_[node].name == attached.name) index_of_[attached.node] = node;
    down(attached.node, [this, id = attached.node](size_t node) { on_attached(node, id); });
}

void World::send_order(const To<GroupOrder>& order) {
    Exchange& exchange = exchanges_[order.group];
    exchange.members = order.members;
    exchange.iteration = order.iteration;
    for (const auto& part : order.members) {
        const size_t node = index_of(part.node);
        if (std::find(exchange.nodes.begin(), exchange.nodes.end(), node) != exchange.nodes.end())
            continue;
        exchange.nodes.push_back(node);
        down(part.node, [this, order](size_t n) { tell_order(n, order); });
    }
    // A node that dies before it gets the order stops the exchange as well.
    after(milliseconds(40), [this, group = order.group] { finish(group); });
}

// ----------------------------------------------------------------------------------------- daemons

void World::attach(size_t node) {
    Daemon& daemon = daemons_[node];
    if (!daemon.alive) {
        daemon.alive = true;
        ++daemon.life;
        beat(node, daemon.life);
    }
    up(node, Hello{0, daemon.name, daemon.life, {}, daemon.name, 8, 0, daemon.zone});
    // The controller may be restarting at this moment. So the daemon asks again until the
    // controller answers.
    after(milliseconds(300), [this, node, life = daemon.life] {
        if (daemons_[node].alive && daemons_[node].life == life && !daemons_[node].attached)
            attach(node);
    });
}

void World::on_view(size_t node, const CommitView& view) {
    daemons_[node].epoch = view.epoch;
    for (const Member& member : view.members)
        if (trainers_[member.rank].node == node) trainers_[member.rank].was_member = true;
    for (const Rank rank : daemons_[node].ranks)
        if (trainers_[rank].phase == Phase::adopting) compute(rank);
}

void World::on_attached(size_t node, NodeId id) {
    Daemon& daemon = daemons_[node];
    if (daemon.id != 0 && daemon.id != id)
        // The ids must be stable. An unstable id shows as violations.
        checker_.on_controller_lost();
    daemon.id = id;
    daemon.attached = true;
    for (const Rank rank : daemon.ranks) {
        trainers_[rank].accepted = false;
        join(rank);
    }
}

// The node was excluded, or the controller is gone. Exchanges are void, and members wait again.
void World::detach(size_t node) {
    Daemon& daemon = daemons_[node];
    daemon.attached = false;
    daemon.held.clear();
    for (const Rank rank : daemon.ranks) {
        trainers_[rank].accepted = false;
        if (trainers_[rank].phase == Phase::adopting) trainers_[rank].phase = Phase::joining;
    }
}

void World::beat(size_t node, uint64_t life) {
    if (!daemons_[node].alive || daemons_[node].life != life) return;
    if (daemons_[node].attached) up(node, NodeHeard{daemons_[node].id});
    after(milliseconds(100), [this, node, life] { beat(node, life); });
}

bool World::is_early(size_t node, const GroupOrder& order) const {
    return std::any_of(order.members.begin(), order.members.end(), [&](const auto& part) {
        const Trainer& trainer = trainers_[part.rank];
        return trainer.node == node && trainer.phase == Phase::computing &&
               trainer.announced == part.iteration;
    });
}

void World::tell_order(size_t node, const GroupOrder& order) {
    if (!exchanges_.contains(order.group)) return;
    if (!is_early(node, order)) return begin(node, order);
    daemons_[node].held.emplace(order.group, order);
    after(uniform(milliseconds(1), milliseconds(20)), [this, node, group = order.group] {
        if (daemons_[node].held.contains(group)) fail_part(node, group);
    });
}

void World::begin(size_t node, const GroupOrder& order) {
    const auto found = exchanges_.find(order.group);
    if (found == exchanges_.end()) return;
    const bool all_here =
        std::all_of(order.members.begin(), order.members.end(), [&](const auto& part) {
            const Trainer& trainer = trainers_[part.rank];
            return trainer.node != node || (trainer.phase == Phase::waiting && trainer.accepted &&
                                            trainer.iteration == part.iteration);
        });
    if (scenario_.announcements && !all_here) {
        daemons_[node].held.emplace(order.group, order);
        return fail_part(node, order.group);
    }
    for (const auto& part : order.members) {
        Trainer& trainer = trainers_[part.rank];
        if (trainer.node != node || trainer.phase != Phase::waiting || !trainer.accepted) continue;
        trainer.phase = Phase::exchanging;
        trainer.group = order.group;
    }
    if (++found->second.told == found->second.nodes.size()) {
        after(uniform(microseconds(200), milliseconds(2)),
              [this, group = order.group] { finish(group); });
    }
}

// The exchange ends well if all its nodes are alive. Otherwise the nodes that are alive notice the
// failure.
void World::finish(GroupId group) {
    const auto found = exchanges_.find(group);
    if (found == exchanges_.end()) return;
    const Exchange exchange = found->second;
    const auto missing = std::find_if(exchange.nodes.begin(), exchange.nodes.end(),
                                      [&](size_t node) { return !daemons_[node].alive; });
    const bool failed = missing != exchange.nodes.end() || exchange.told < exchange.nodes.size();
    for (const size_t node : exchange.nodes) {
        const Daemon& daemon = daemons_[node];
        if (!daemon.alive) continue;
        if (failed) {
            if (missing != exchange.nodes.end() && random_.below(2) == 0) {
                up(node, from(daemon.id, PeerLost{daemons_[*missing].id, "test"}));
            }
            fail_part(node, group);
            continue;
        }
        up(node, from(daemon.id, GroupDone{1, group, false, 1000, 64}));
        for (const auto& part : exchange.members) {
            Trainer& trainer = trainers_[part.rank];
            if (trainer.node != node || trainer.phase != Phase::exchanging ||
                trainer.group != group)
                continue;
            trainer.iteration = exchange.iteration;
            compute(part.rank);
        }
    }
    exchanges_.erase(group);
}

void World::fail_part(size_t node, GroupId group) {
    // Workers that have arrived for an order that is held still wait.
    std::vector<Rank> again;
    const auto held = daemons_[node].held.find(group);
    const bool was_held = held != daemons_[node].held.end();
    if (was_held) {
        for (const auto& part : held->second.members) {
            const Trainer& trainer = trainers_[part.rank];
            const bool fits = trainer.node == node && trainer.phase == Phase::waiting &&
                              trainer.iteration == part.iteration;
            if (fits) again.push_back(part.rank);
        }
        daemons_[node].held.erase(held);
    }
    for (const Rank rank : daemons_[node].ranks) {
        Trainer& trainer = trainers_[rank];
        if (trainer.phase != Phase::exchanging || trainer.group != group) continue;
        trainer.phase = Phase::waiting;
        again.push_back(rank);
    }
    if (was_held || !again.empty())
        up(node, from(daemons_[node].id, GroupDone{1, group, true, 0, 0}));
    for (const Rank rank : again) announce(rank);
}

}  // namespace pace::simulation
