// World: all of Pace in one process and one thread: controller, journal, daemons, network, disks
// and trainers, in a time of their own.
//
// A run plays the faults of its plan, then heals everything, and demands that every worker goes on
// within a bounded time. It ends with an orderly leave of all, after which nothing may be retained.
// The programs (program.h) and the ledger check what must hold at every step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/simulation/simulated_time.h"
#include "protocol/control_codec.h"
#include "tests/world/clients/processes.h"
#include "tests/world/controller_process.h"
#include "tests/world/daemon_process.h"
#include "tests/world/disks/files.h"
#include "tests/world/ledger.h"
#include "tests/world/machine.h"
#include "tests/world/plan.h"
#include "tests/world/trainer.h"
#include "tests/world/wire.h"

namespace pace::world {

// The result of a run.
struct Report {
    std::vector<std::string> wrongs;  // empty: everything held
    uint64_t calls = 0;
    uint64_t faults = 0;
    uint64_t hash = 0;                       // equal for equal runs
    Duration lasted{};                       // in the world's time
    std::map<std::string, uint32_t> points;  // how often each point was passed
    std::map<std::string, uint32_t> notes;   // what the controller has told people, and how often
};

class World final : public TrainerPort {
  public:
    explicit World(const Plan& plan);
    ~World() override;
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    Report run();

  private:
    struct Host {
        std::unique_ptr<DaemonProcess> daemon;
        bool stirred = false;  // its daemon has done something, or is there no more
        // A daemon whose machine lost its power: its peers learn of that when the machine is back.
        std::unique_ptr<DaemonProcess> ghost;
        uint64_t lives = 0;
        uint32_t asleep = 0;  // overlapping sleeps
        TimePoint fell_asleep{};
        bool off = false;
        // After so many steps that are done to files, this fault happens. 0: none does.
        uint32_t steps_left = 0;
        Fault at_step{};
        std::shared_ptr<TimePoint> disk_stalls_until = std::make_shared<TimePoint>();
    };

    // The course of a run.
    void play(TimePoint until);
    bool step();
    void look_at_trainers();
    std::unique_ptr<Trainer> new_trainer(const protocol::JobOptions& job, uint32_t rank,
                                         MachineId machine);
    std::string socket_of(MachineId machine) const;
    TimePoint next_time() const;
    void heal();
    void demand_progress();
    void check_saved(MachineId machine, const protocol::control::ServerSaved& saved);
    void demand_little_memory();
    void demand_nothing_retained();

    // Faults.
    void cause(const Fault& fault);
    bool at_point(const std::string& point, MachineId machine);
    bool at_message(const char* when, std::span<const std::byte> message, MachineId from,
                    MachineId to);
    bool at_file_step(const char* point, MachineId machine);
    bool at_trainers_point(const std::string& point, const Trainer& trainer) override;
    bool has_faults_due() const override { return !due_.empty(); }
    bool dies_there(const Fault& fault, MachineId machine);
    void kill_daemon(MachineId machine, bool vanishes);
    void start_daemon(MachineId machine);
    void freeze_daemon(MachineId machine, Duration length);
    void put_to_sleep(MachineId machine, Duration length);
    void turn_off(MachineId machine, Duration length);
    void kill_controller(Duration length);
    void cut(MachineId from, MachineId to, Duration length);
    void slow(MachineId from, MachineId to, Duration length);
    void break_link(MachineId one, MachineId other);
    void trainer_fault(const Fault& fault);
    void machine_fault(const Fault& fault);
    void disk_fault(const Fault& fault);
    void controller_fault(const Fault& fault);
    void network_fault(const Fault& fault);
    bool is_harmless(const Fault& fault) const;
    // Undone when its time has come, or when everything is healed.
    void undo_after(Duration length, std::function<void()> undo);

    DaemonProcess* daemon_of(MachineId machine) override { return hosts_.at(machine).daemon.get(); }
    bool sleeps(MachineId machine) const override {
        return hosts_.at(machine).asleep > 0 || hosts_.at(machine).off;
    }
    bool may_lose_places() const override { return !is_mild(plan_); }
    bool runs(MachineId machine) const { return !sleeps(machine); }

    Plan plan_;
    base::SimulatedTime time_;
    Processes processes_;
    Clockwork clockwork_;
    Ledger ledger_;
    Machines machines_;
    Ways ways_;
    transports::MemoryNetwork network_;
    Switchboard board_;
    ControllerProcess controller_;
    std::filesystem::path folder_;
    Files files_;
    std::vector<Host> hosts_;
    std::vector<std::unique_ptr<Trainer>> trainers_;
    std::map<std::string, uint32_t> points_;
    std::vector<Fault> due_;  // caused at points, once the turn is over
    std::vector<std::shared_ptr<std::function<void()>>> undos_;
    bool healed_ = false;
};

Report run(const Plan& plan);

// The plan with the fewest of its faults that still goes wrong; `tries` runs at most.
Plan shrunk(const Plan& plan, uint32_t tries);

}  // namespace pace::world
