// Trainer: one worker's process. It joins, makes its first broadcast and then its calls, as a
// program with libpace would, whatever happens to its daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "protocol/options/job_options.h"
#include "tests/world/clockwork.h"
#include "tests/world/daemon_process.h"
#include "tests/world/ledger.h"

namespace pace::world {

class Trainer;

// The parts of the world that a trainer needs.
class TrainerPort {
  public:
    virtual ~TrainerPort() = default;
    // The machine's daemon; null while there is none.
    virtual DaemonProcess* daemon_of(MachineId machine) = 0;
    virtual bool sleeps(MachineId machine) const = 0;
    // Whether workers may be taken out of their jobs.
    virtual bool may_lose_places() const = 0;
    // The trainer's process has come to a point. False: it dies there.
    virtual bool at_trainers_point(const std::string& point, const Trainer& trainer) = 0;
    // Whether faults are to be caused before the process goes on.
    virtual bool has_faults_due() const = 0;
};

class Trainer {
  public:
    Trainer(Clockwork& clockwork, Ledger& ledger, TrainerPort& port,
            const protocol::JobOptions& job, uint32_t rank, MachineId machine)
        : clockwork_(clockwork),
          ledger_(ledger),
          port_(port),
          job_(job),
          rank_(rank),
          machine_(machine),
          name_(fmt::format("{}.{}", job.name, rank)) {}
    virtual ~Trainer() = default;
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    virtual void begin() = 0;
    // The process ends: killed, or after it has told its daemon that it leaves.
    virtual void end(bool orderly) = 0;
    virtual void set_frozen(bool frozen) = 0;
    virtual void cancel_call() = 0;
    // Its process writes garbage to what it shares with its daemon.
    virtual void scribble() {}
    // The machine's daemon is about to die: nothing comes from it any more.
    virtual void daemon_dies() = 0;
    // The machine runs again.
    virtual void wake() = 0;
    virtual size_t model_bytes() const = 0;
    // What the daemon charges for the trainer's session, besides its buffers.
    virtual size_t session_bytes() const { return 0; }
    // The trainer's activity, for a report.
    virtual std::string doing() const = 0;

    // Has the process go on, if what it waits for may have come. `stirred`: its machine's daemon
    // has done something.
    virtual void look(bool /*stirred*/) {}
    // When the process goes on by itself, in the machine's time.
    virtual std::optional<TimePoint> next_timer() const { return {}; }

    MachineId machine() const { return machine_; }
    uint64_t steps() const { return steps_; }
    const protocol::JobOptions& job() const { return job_; }
    const std::string& name() const { return name_; }

  protected:
    Clockwork& clockwork_;
    Ledger& ledger_;
    TrainerPort& port_;
    const protocol::JobOptions& job_;
    const uint32_t rank_;
    const MachineId machine_;
    const std::string name_;
    uint64_t steps_ = 0;  // in all its lives
};

}  // namespace pace::world
