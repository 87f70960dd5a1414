// World, faults: how each befalls the processes, machines and links, and how it ends.
#include <utility>

#include "tests/world/world.h"

namespace pace::world {

void World::undo_after(Duration length, std::function<void()> undo) {
    const auto work = std::make_shared<std::function<void()>>(std::move(undo));
    undos_.push_back(work);
    clockwork_.after(length, [work] {
        if (const auto once = std::exchange(*work, {})) once();
    });
}

// Called where a point is passed. False: the process that passes it dies there.
bool World::at_point(const std::string& point, MachineId machine) {
    const uint32_t passed = ++points_[point];
    if (healed_) return true;
    for (const Fault& planned : plan_.faults) {
        if (planned.point != point || planned.occurrence != passed) continue;
        Fault fault = planned;
        // A fault of the process that passes the point befalls that one.
        if (machine != machines_.controllers()) fault.target = machine;
        due_.push_back(fault);
        if (dies_there(fault, machine)) return false;
    }
    return true;
}

bool World::at_trainers_point(const std::string& point, const Trainer& trainer) {
    const uint32_t passed = ++points_[point];
    if (healed_) return true;
    bool lives = true;
    for (const Fault& planned : plan_.faults) {
        if (planned.point != point || planned.occurrence != passed) continue;
        Fault fault = planned;
        fault.target = trainer.machine();
        if (is_of_trainer(fault.kind)) {
            for (fault.target = 0; trainers_[fault.target].get() != &trainer;) ++fault.target;
            lives = lives && fault.kind != FaultKind::trainer_dies;
        } else if (hosts_[trainer.machine()].daemon) {
            dies_there(fault, trainer.machine());
        }
        due_.push_back(fault);
    }
    return lives;
}

// Whether whoever passes a point dies of the fault: then nothing that it does is seen any more.
bool World::dies_there(const Fault& fault, MachineId machine) {
    if (machine == machines_.controllers()) {
        if (fault.kind != FaultKind::controller_dies && fault.kind != FaultKind::journal_lost)
            return false;
        controller_.fall_silent();
        return true;
    }
    if (fault.kind == FaultKind::machine_dies) {
        hosts_[machine].daemon->vanish();
    } else if (fault.kind == FaultKind::daemon_dies) {
        hosts_[machine].daemon->fall_silent();
    } else {
        return false;
    }
    return true;
}

bool World::at_file_step(const char* point, MachineId machine) {
    if (!at_point(point, machine)) return false;
    Host& host = hosts_[machine];
    if (healed_ || host.steps_left == 0 || --host.steps_left > 0) return true;
    due_.push_back(host.at_step);
    return !dies_there(host.at_step, machine);
}

bool World::is_harmless(const Fault& fault) const {
    return fault.kind >= FaultKind::link_cut && fault.kind <= FaultKind::link_breaks &&
           fault.target == fault.other;
}

void World::cause(const Fault& fault) {
    if (healed_ || is_harmless(fault)) return;
    ledger_.count_fault();
    if (ledger_.tells()) ledger_.tell("{}", to_text(fault));
    ledger_.trace(static_cast<uint64_t>(fault.kind));
    switch (fault.kind) {
        case FaultKind::trainer_dies:
        case FaultKind::trainer_leaves:
        case FaultKind::trainer_freezes:
        case FaultKind::call_canceled:
        case FaultKind::trainer_scribbles:
            return trainer_fault(fault);
        case FaultKind::daemon_dies:
        case FaultKind::daemon_freezes:
        case FaultKind::machine_dies:
        case FaultKind::machine_sleeps:
        case FaultKind::disk_stalls:
            return machine_fault(fault);
        case FaultKind::daemon_dies_writing:
        case FaultKind::machine_dies_writing:
        case FaultKind::disk_full:
        case FaultKind::disk_fails:
        case FaultKind::disk_damages:
            return disk_fault(fault);
        case FaultKind::controller_dies:
        case FaultKind::controller_freezes:
        case FaultKind::controller_sleeps:
        case FaultKind::journal_fails:
        case FaultKind::journal_lost:
            return controller_fault(fault);
        case FaultKind::link_cut:
        case FaultKind::link_one_way:
        case FaultKind::link_slow:
        case FaultKind::link_breaks:
        case FaultKind::controller_cut:
        case FaultKind::controller_breaks:
            return network_fault(fault);
    }
}

void World::trainer_fault(const Fault& fault) {
    Trainer& trainer = *trainers_[fault.target % trainers_.size()];
    switch (fault.kind) {
        case FaultKind::trainer_freezes:
            trainer.set_frozen(true);
            return undo_after(fault.length, [&trainer] { trainer.set_frozen(false); });
        case FaultKind::call_canceled:
            return trainer.cancel_call();
        case FaultKind::trainer_scribbles:
            return trainer.scribble();
        default:
            trainer.end(fault.kind == FaultKind::trainer_leaves);
            return undo_after(fault.length, [&trainer] { trainer.begin(); });
    }
}

void World::machine_fault(const Fault& fault) {
    const MachineId machine = fault.target % plan_.machines;
    switch (fault.kind) {
        case FaultKind::daemon_freezes:
            return freeze_daemon(machine, fault.length);
        case FaultKind::machine_dies:
            return turn_off(machine, fault.length);
        case FaultKind::machine_sleeps:
            return put_to_sleep(machine, fault.length);
        case FaultKind::disk_stalls:
            *hosts_[machine].disk_stalls_until = clockwork_.now() + fault.length;
            return;
        default:
            kill_daemon(machine, false);
            return undo_after(fault.length, [this, machine] { start_daemon(machine); });
    }
}

void World::disk_fault(const Fault& fault) {
    const MachineId machine = fault.target % plan_.machines;
    Host& host = hosts_[machine];
    switch (fault.kind) {
        case FaultKind::disk_full:
            files_.fill(machine, true);
            return undo_after(fault.length, [this, machine] { files_.fill(machine, false); });
        case FaultKind::disk_fails:
            files_.set_broken(machine, true);
            return undo_after(fault.length, [this, machine] { files_.set_broken(machine, false); });
        case FaultKind::disk_damages:
            return files_.damage(machine);
        default:
            host.steps_left = fault.occurrence;
            host.at_step = fault;
            host.at_step.kind = fault.kind == FaultKind::daemon_dies_writing
                                    ? FaultKind::daemon_dies
                                    : FaultKind::machine_dies;
    }
}

void World::controller_fault(const Fault& fault) {
    switch (fault.kind) {
        case FaultKind::controller_dies:
            return kill_controller(fault.length);
        case FaultKind::journal_lost:
            kill_controller(fault.length);
            ledger_.lose_journal();
            return controller_.lose_journal();
        case FaultKind::controller_freezes:
            controller_.set_frozen(true);
            return undo_after(fault.length, [this] { controller_.set_frozen(false); });
        case FaultKind::controller_sleeps:
            controller_.set_frozen(true);
            return undo_after(fault.length, [this, began = clockwork_.now()] {
                controller_.set_frozen(false);
                machines_.has_slept(machines_.controllers(), clockwork_.now() - began);
            });
        default:
            controller_.set_disk_fails(true);
            return undo_after(fault.length, [this] { controller_.set_disk_fails(false); });
    }
}

void World::network_fault(const Fault& fault) {
    const MachineId machine = fault.target % plan_.machines;
    const MachineId other = fault.other % plan_.machines;
    switch (fault.kind) {
        case FaultKind::link_cut:
            cut(machine, other, fault.length);
            return cut(other, machine, fault.length);
        case FaultKind::link_one_way:
            return cut(machine, other, fault.length);
        case FaultKind::link_slow:
            slow(machine, other, fault.length);
            return slow(other, machine, fault.length);
        case FaultKind::link_breaks:
            return break_link(machine, other);
        case FaultKind::controller_cut:
            cut(machine, machines_.controllers(), fault.length);
            return cut(machines_.controllers(), machine, fault.length);
        default:
            return board_.break_connections(machine);
    }
}

void World::start_daemon(MachineId machine) {
    Host& host = hosts_[machine];
    if (host.daemon || host.off) return;
    host.ghost.reset();
    machines_.enter(machine);
    files_.begin(machine);
    host.daemon = std::make_unique<DaemonProcess>(
        Surroundings{clockwork_, machines_, board_, network_, ways_, files_, processes_,
                     [this](const std::string& point, MachineId at) { at_point(point, at); }},
        machine, (uint64_t{machine + 1} << 32U) | ++host.lives, host.disk_stalls_until);
    if (plan_.clients) host.daemon->listen(socket_of(machine));
}

void World::kill_daemon(MachineId machine, bool vanishes) {
    Host& host = hosts_[machine];
    if (!host.daemon) return;
    for (const auto& trainer : trainers_)
        if (trainer->machine() == machine) trainer->daemon_dies();
    files_.end(machine);
    host.stirred = true;
    if (!vanishes) return host.daemon.reset();
    host.daemon->vanish();
    host.ghost = std::move(host.daemon);
}

void World::freeze_daemon(MachineId machine, Duration length) {
    Host& host = hosts_[machine];
    if (!host.daemon || host.daemon->frozen()) return;
    host.daemon->set_frozen(true);
    undo_after(length, [&host, life = host.daemon->life()] {
        if (host.daemon && host.daemon->life() == life) host.daemon->set_frozen(false);
    });
}

// The machine's clock stands still too.
void World::put_to_sleep(MachineId machine, Duration length) {
    Host& host = hosts_[machine];
    if (host.off) return;
    if (host.asleep++ == 0) {
        host.fell_asleep = clockwork_.now();
        if (host.daemon) network_.freeze(host.daemon->transport());
    }
    undo_after(length, [this, machine, &host] {
        if (host.asleep == 0 || --host.asleep > 0) return;
        machines_.has_slept(machine, clockwork_.now() - host.fell_asleep);
        if (host.daemon && !host.daemon->frozen()) network_.thaw(host.daemon->transport());
        for (const auto& trainer : trainers_)
            if (trainer->machine() == machine) trainer->wake();
    });
}

void World::turn_off(MachineId machine, Duration length) {
    Host& host = hosts_[machine];
    if (host.off) return;
    for (const auto& trainer : trainers_)
        if (trainer->machine() == machine) trainer->end(false);
    kill_daemon(machine, true);
    files_.cut_power(machine);
    host.off = true;
    undo_after(length, [this, machine, &host] {
        host.off = false;
        start_daemon(machine);
        for (const auto& trainer : trainers_) {
            if (trainer->machine() != machine) continue;
            trainer->wake();
            trainer->begin();
        }
    });
}

void World::kill_controller(Duration length) {
    if (!controller_.alive()) return;
    machines_.enter(machines_.controllers());
    controller_.die();
    undo_after(length, [this] {
        if (!controller_.alive()) controller_.start();
    });
}

void World::cut(MachineId from, MachineId to, Duration length) {
    machines_.cut(from, to, 1);
    undo_after(length, [this, from, to] { machines_.cut(from, to, -1); });
}

void World::slow(MachineId from, MachineId to, Duration length) {
    machines_.slow(from, to, 1);
    undo_after(length, [this, from, to] { machines_.slow(from, to, -1); });
}

void World::break_link(MachineId one, MachineId other) {
    if (!hosts_[one].daemon || !hosts_[other].daemon) return;
    network_.part(hosts_[one].daemon->transport(), hosts_[other].daemon->transport());
}

}  // namespace pace::world
