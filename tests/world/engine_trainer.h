// EngineTrainer: a trainer that calls the engine as a client's session does, without libpace.
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
#include "tests/world/daemon_process.h"
#include "tests/world/ledger.h"
#include "tests/world/program.h"
#include "tests/world/trainer.h"

namespace pace::world {

class EngineTrainer final : public Trainer {
  public:
    enum class State : uint8_t { absent, opening, computing, calling };

    EngineTrainer(Clockwork& clockwork, Ledger& ledger, TrainerPort& port,
                  const protocol::JobOptions& job, uint32_t rank, MachineId machine);
    ~EngineTrainer() override;

    void begin() override;
    void end(bool orderly) override;
    void set_frozen(bool frozen) override;
    void cancel_call() override;
    void daemon_dies() override;
    void wake() override;
    size_t model_bytes() const override { return program_ ? program_->model().size_bytes() : 0; }
    std::string doing() const override;

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

    State state_ = State::absent;
    bool frozen_ = false;
    uint64_t life_ = 0;
    std::vector<std::function<void()>> frozen_work_;
    std::unique_ptr<Program> program_;
    std::shared_ptr<Session> session_;
    uint64_t step_ = 0;
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
