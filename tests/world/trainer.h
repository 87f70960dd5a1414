// Trainer: one worker's process. It joins, makes its first broadcast and then its calls, as a
// program with libpace would, whatever happens to its daemon.
//
//     absent ── begin ──▶ opening ── joined ──▶ calling ⇄ computing
//                            ▲                     │
//                            └── the daemon died ──┘
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/jobs/engine.h"
#include "daemon_process.h"
#include "ledger.h"
#include "program.h"

namespace pace::world {

// The parts of the world that a trainer needs.
class TrainerPort {
  public:
    virtual ~TrainerPort() = default;
    // The machine's daemon; null while there is none.
    virtual DaemonProcess* daemon_of(MachineId machine) = 0;
    virtual bool sleeps(MachineId machine) const = 0;
    // Whether workers may be taken out of their jobs.
    virtual bool may_lose_places() const = 0;
};

class Trainer {
  public:
    enum class State : uint8_t { absent, opening, computing, calling };

    Trainer(Clockwork& clockwork, Ledger& ledger, TrainerPort& port,
            const protocol::JobOptions& job, uint32_t rank, MachineId machine);
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    void begin();
    // The process ends: killed, or after it has told its daemon that it leaves.
    void end(bool orderly);
    void set_frozen(bool frozen);
    void cancel_call();
    // The machine's daemon is about to die: nothing comes from it any more.
    void daemon_dies();
    // The machine runs again.
    void wake();

    MachineId machine() const { return machine_; }
    uint64_t steps() const { return steps_; }
    const protocol::JobOptions& job() const { return job_; }
    size_t model_bytes() const { return program_ ? program_->model().size_bytes() : 0; }
    const std::string& name() const { return name_; }
    // The trainer's activity, for a report.
    std::string doing() const;

  private:
    class Session;

    DaemonProcess* daemon_of(const Session* session) const;
    void later(Duration delay, std::function<void()> run);
    void open();
    void joined(base::Result<daemon::Seat> seat);
    void refused(const base::Error& error);
    void compute();
    void call(bool broadcasts);
    void submit();
    void ended(const daemon::Ending& ending);
    std::span<const std::byte> model_buffer() const;
    void check_untouched();
    void done(const daemon::Ending& ending);
    void failed(const daemon::Ending& ending);
    daemon::BufferPtr new_buffer(std::span<const float> contents);
    Self self() const;

    Clockwork& clockwork_;
    Ledger& ledger_;
    TrainerPort& port_;
    const protocol::JobOptions& job_;
    const uint32_t rank_;
    const MachineId machine_;
    const std::string name_;

    State state_ = State::absent;
    bool frozen_ = false;
    uint64_t life_ = 0;
    std::vector<std::function<void()>> frozen_work_;
    std::unique_ptr<Program> program_;
    std::shared_ptr<Session> session_;
    uint64_t step_ = 0;
    uint64_t steps_ = 0;  // in all its lives
    uint64_t requests_ = 0;
    bool joined_before_ = false;  // in this life
    bool broadcasts_ = true;      // the call that is made or repeated is a broadcast
    uint64_t calling_ = 0;        // the request in flight
    TimePoint called_at_{};
    Duration step_takes_{};
    uint64_t iteration_ = 0;  // as libpace's session knows them
    uint64_t rounds_ = 0;
    daemon::control::Run run_;
    std::vector<daemon::BufferPtr> buffers_;  // of the session: the model, and the call's
    std::vector<std::byte> left_;             // what the call has left in the model's buffer
    std::string last_error_;
};

}  // namespace pace::world
