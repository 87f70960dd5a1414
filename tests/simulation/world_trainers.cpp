// World: the trainers, and the faults of trainers, daemons and the controller.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "world.h"

namespace pace::simulation {

using std::chrono::milliseconds;

namespace {

constexpr uint32_t kDigest = 5;

}  // namespace

// ---------------------------------------------------------------------------------------- trainers

void World::join(Rank rank) {
    const Trainer& trainer = trainers_[rank];
    const Daemon& daemon = daemons_[trainer.node];
    if (trainer.phase == Phase::dead || trainer.accepted || !daemon.alive || !daemon.attached)
        return;
    WorkerJoin join;
    join.request = join.rank = rank;
    join.options = scenario_.job;
    join.uid = 1000;
    join.resume = trainer.was_accepted;
    join.is_new = !trainer.was_member;
    join.iteration = trainer.iteration;
    join.epoch = trainer.was_member ? daemon.epoch : 0;
    join.rerun = Rerun::never;
    up(trainer.node, from(daemon.id, join));
}

void World::on_accepted(size_t node, const To<JoinAccepted>& accepted) {
    Trainer& trainer = trainers_[accepted.rank];
    if (trainer.node != node || trainer.phase == Phase::dead) return;
    trainer.accepted = trainer.was_accepted = true;
    if (trainer.phase == Phase::waiting) return announce(accepted.rank);
    if (trainer.phase == Phase::computing && trainer.announced)
        return up(node, from(accepted.to.front(), Ready{1, accepted.rank, *trainer.announced,
                                                        kDigest, ReadyStage::announced}));
    if (trainer.phase != Phase::joining) return;
    if (accepted.under_way && random_.below(2) == 0) {
        trainer.phase = Phase::adopting;
        return up(node, from(accepted.to.front(), WorkerAdmit{accepted.job, accepted.rank, true}));
    }
    compute(accepted.rank);
}

void World::compute(Rank rank) {
    Trainer& trainer = trainers_[rank];
    trainer.phase = Phase::computing;
    const double jitter = 0.8 + 0.4 * random_.uniform();
    const Duration step(static_cast<int64_t>(trainer.step_ns * jitter));
    if (scenario_.announcements) {
        const uint64_t kind = random_.below(8);
        if (kind > 0) announce_step(rank, trainer.iteration + (kind == 1 ? 3 : 1));
        if (kind == 2) {
            after(uniform({}, step), [this, rank, life = trainer.life] {
                if (trainers_[rank].life == life && trainers_[rank].phase == Phase::computing)
                    take_back(rank);
            });
        }
    }
    after(step, [this, rank, life = trainer.life] {
        Trainer& self = trainers_[rank];
        if (self.life == life && self.phase == Phase::computing) arrive(rank);
    });
}

void World::announce_step(Rank rank, uint64_t iteration) {
    Trainer& trainer = trainers_[rank];
    if (!trainer.accepted) return;
    trainer.announced = iteration;
    up(trainer.node,
       from(daemons_[trainer.node].id, Ready{1, rank, iteration, kDigest, ReadyStage::announced}));
}

void World::arrive(Rank rank) {
    Trainer& trainer = trainers_[rank];
    ++trainer.iteration;
    const bool as_announced = trainer.announced == trainer.iteration;
    if (!as_announced) take_back(rank);
    trainer.announced.reset();
    trainer.phase = Phase::waiting;
    signal(rank, as_announced ? ReadyStage::arrived : ReadyStage::called);
    const auto held = daemons_[trainer.node].held;
    for (const auto& [group, order] : held) {
        const bool named = std::any_of(order.members.begin(), order.members.end(),
                                       [rank](const auto& part) { return part.rank == rank; });
        if (!named || is_early(trainer.node, order)) continue;
        daemons_[trainer.node].held.erase(group);
        begin(trainer.node, order);
    }
}

void World::announce(Rank rank) {
    signal(rank, ReadyStage::called);
}

void World::signal(Rank rank, ReadyStage stage) {
    const Trainer& trainer = trainers_[rank];
    if (!trainer.accepted) return;
    up(trainer.node,
       from(daemons_[trainer.node].id, Ready{1, rank, trainer.iteration, kDigest, stage}));
}

void World::take_back(Rank rank) {
    Trainer& trainer = trainers_[rank];
    if (!trainer.announced) return;
    up(trainer.node, from(daemons_[trainer.node].id, Withdraw{1, rank, true}));
    forget_announcement(rank);
}

// The orders that wait for this worker will not begin.
void World::forget_announcement(Rank rank) {
    Trainer& trainer = trainers_[rank];
    if (!std::exchange(trainer.announced, std::nullopt)) return;
    std::vector<GroupId> waiting;
    for (const auto& [group, order] : daemons_[trainer.node].held)
        for (const auto& part : order.members)
            if (part.rank == rank) waiting.push_back(group);
    for (const GroupId group : waiting) fail_part(trainer.node, group);
}

// ------------------------------------------------------------------------------------------ faults

void World::kill_trainer(Rank rank, bool orderly) {
    Trainer& trainer = trainers_[rank];
    const bool settled = trainer.phase == Phase::computing || trainer.phase == Phase::waiting;
    if (trainer.phase == Phase::dead || !trainer.accepted || (orderly && !settled)) return;
    up(trainer.node, from(daemons_[trainer.node].id, WorkerLeave{1, rank, orderly}));
    trainer.phase = Phase::dead;
    trainer.accepted = trainer.was_accepted = trainer.was_member = false;
    ++trainer.life;
    forget_announcement(rank);
    after(uniform(milliseconds(50), milliseconds(800)), [this, rank, life = trainer.life] {
        Trainer& self = trainers_[rank];
        if (self.life != life || self.phase != Phase::dead) return;
        self.phase = Phase::joining;
        self.iteration = 0;
        join(rank);
    });
}

// The trainer computes, or does nothing, for a long time.
void World::freeze_trainer(Rank rank) {
    Trainer& trainer = trainers_[rank];
    if (trainer.phase != Phase::computing) return;
    const uint64_t life = ++trainer.life;
    after(uniform(milliseconds(500), milliseconds(4000)), [this, rank, life] {
        if (trainers_[rank].life == life) compute(rank);
    });
}

void World::kill_node(size_t node) {
    Daemon& daemon = daemons_[node];
    if (!daemon.alive) return;
    daemon.alive = daemon.attached = false;
    daemon.epoch = 0;
    daemon.held.clear();
    for (const Rank rank : daemon.ranks) {
        Trainer& trainer = trainers_[rank];
        ++trainer.life;
        trainer.announced.reset();
        trainer.phase = Phase::dead;
        trainer.accepted = trainer.was_accepted = trainer.was_member = false;
    }
    after(uniform(milliseconds(100), milliseconds(3000)), [this, node] {
        for (const Rank rank : daemons_[node].ranks) {
            trainers_[rank].phase = Phase::joining;
            trainers_[rank].iteration = 0;
        }
        attach(node);
    });
}

void World::restart_controller() {
    if (!controller_up_) return;
    controller_up_ = false;
    ++controller_life_;
    tick_at_ = TimePoint::max();
    checker_.on_controller_lost();
    for (size_t node = 0; node < daemons_.size(); ++node) detach(node);
    after(uniform(milliseconds(10), milliseconds(300)), [this] {
        controller_up_ = true;
        core_ = std::make_unique<Core>(CoreOptions{}, next_token);
        for (const auto& record : journal_) {
            if (!core_->replay(record)) throw std::logic_error("the journal does not replay");
        }
        core_->replay_finished(now_);
        schedule_tick();
        for (size_t node = 0; node < daemons_.size(); ++node) {
            after(uniform(milliseconds(1), milliseconds(50)), [this, node] {
                if (daemons_[node].alive && !daemons_[node].attached) attach(node);
            });
        }
    });
}

}  // namespace pace::simulation
