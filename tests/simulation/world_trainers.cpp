// World: the trainers, and what befalls them and everybody else.
#include <stdexcept>

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
    up(trainer.node, WorkerJoin{rank, daemon.id, rank, scenario_.job, 1000, trainer.was_member,
                                trainer.iteration, 0, daemon.epoch});
}

void World::on_accepted(size_t node, const JoinAccepted& accepted) {
    Trainer& trainer = trainers_[accepted.rank];
    if (trainer.node != node || trainer.phase == Phase::dead) return;
    trainer.accepted = true;
    trainer.was_member = true;
    if (trainer.phase == Phase::waiting) return announce(accepted.rank);
    if (trainer.phase != Phase::joining) return;
    if (accepted.under_way && random_.below(2) == 0) {
        trainer.phase = Phase::adopting;
        return up(node, WorkerAdmit{accepted.node, accepted.job, accepted.rank, true});
    }
    compute(accepted.rank);
}

void World::compute(Rank rank) {
    Trainer& trainer = trainers_[rank];
    trainer.phase = Phase::computing;
    const double jitter = 0.8 + 0.4 * random_.uniform();
    after(Duration(static_cast<int64_t>(trainer.step_ns * jitter)),
          [this, rank, life = trainer.life] {
              Trainer& self = trainers_[rank];
              if (self.life != life || self.phase != Phase::computing) return;
              ++self.iteration;
              self.phase = Phase::waiting;
              announce(rank);
          });
}

void World::announce(Rank rank) {
    const Trainer& trainer = trainers_[rank];
    if (!trainer.accepted) return;
    up(trainer.node, Ready{daemons_[trainer.node].id, 1, rank, trainer.iteration, kDigest});
}

// ------------------------------------------------------------------------------------------ faults

void World::kill_trainer(Rank rank, bool orderly) {
    Trainer& trainer = trainers_[rank];
    const bool settled = trainer.phase == Phase::computing || trainer.phase == Phase::waiting;
    if (trainer.phase == Phase::dead || !trainer.accepted || (orderly && !settled)) return;
    up(trainer.node, WorkerLeave{daemons_[trainer.node].id, 1, rank, orderly});
    trainer.phase = Phase::dead;
    trainer.accepted = trainer.was_member = false;
    ++trainer.life;
    after(uniform(milliseconds(50), milliseconds(800)), [this, rank, life = trainer.life] {
        Trainer& self = trainers_[rank];
        if (self.life != life || self.phase != Phase::dead) return;
        self.phase = Phase::joining;
        self.iteration = 0;
        join(rank);
    });
}

// It computes, or does nothing, for a long time.
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
    for (const Rank rank : daemon.ranks) {
        Trainer& trainer = trainers_[rank];
        ++trainer.life;
        trainer.phase = Phase::dead;
        trainer.accepted = trainer.was_member = false;
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
