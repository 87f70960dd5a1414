// ClientTrainer: a trainer's process with the real libpace in it. Its program runs on a strand of
// its own, and waits in the world's time for its daemon's socket and rings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/world/clients/client_life.h"
#include "tests/world/clients/processes.h"
#include "tests/world/clients/strand.h"
#include "tests/world/trainer.h"

namespace pace::world {

class ClientTrainer final : public Trainer, public Process, private ClientLifePort {
  public:
    ClientTrainer(Clockwork& clockwork, Ledger& ledger, TrainerPort& port, Machines& machines,
                  Processes& processes, const protocol::JobOptions& job, uint32_t rank,
                  MachineId machine, std::string socket);
    ~ClientTrainer() override;

    void begin() override;
    void end(bool orderly) override;
    void set_frozen(bool frozen) override;
    void cancel_call() override;
    void scribble() override;
    void daemon_dies() override { ledger_.begins_anew(name_); }
    void wake() override;
    size_t model_bytes() const override { return model_bytes_; }
    size_t session_bytes() const override;
    std::string doing() const override;
    void look(bool stirred) override;
    std::optional<TimePoint> next_timer() const override;

    int wait(std::span<pollfd> watched, TimePoint deadline) override;
    void passes(const std::string& point) override;

  private:
    // What the strand waits for.
    struct Rest {
        std::vector<pollfd> watched;
        TimePoint deadline;
        bool is_over = false;  // the strand is about to be resumed
    };

    void live();
    void rest(std::span<pollfd> watched, TimePoint deadline);
    void later(Duration delay, std::function<void()> run);
    void resume();
    bool is_in_call() const { return strand_ && activity_.in_call && rest_ && !rest_->is_over; }
    bool stands_still() const { return frozen_ || port_.sleeps(machine_); }

    bool is_to_leave() const override { return leaves_; }
    bool takes_cancel() override { return std::exchange(cancels_, false); }
    bool may_lose_places() const override { return port_.may_lose_places(); }
    uint64_t stops() const override { return stops_; }
    void has_made_step() override { ++steps_; }

    Machines& machines_;
    Processes& processes_;
    const std::string socket_;

    std::unique_ptr<Strand> strand_;  // null: the process is not there
    uint64_t life_ = 0;
    bool frozen_ = false;
    bool leaves_ = false;
    bool begins_again_ = false;  // once it has left
    bool cancels_ = false;
    bool signaled_ = false;
    uint64_t stops_ = 0;  // how often it was stopped, or its machine
    std::optional<Rest> rest_;
    std::vector<std::function<void()>> frozen_work_;
    uint64_t seed_ = 0;  // of its life
    size_t model_bytes_ = 0;
    ClientActivity activity_;
};

}  // namespace pace::world
