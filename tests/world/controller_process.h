// ControllerProcess: the controller's lives: the dispatcher and its core around a journal on a
// simulated disk, as ControllerServer puts them together.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "machine.h"
#include "service/controller/shell/awake_clock.h"
#include "service/controller/shell/dispatcher.h"
#include "wire.h"

namespace pace::world {

class ControllerProcess final : public controller::Outlet {
  public:
    // Called before and after each record is appended. False: the controller has died there.
    using Point = std::function<bool(const char* when)>;

    ControllerProcess(Clockwork& clockwork, Machines& machines, Switchboard& board, Point point)
        : clockwork_(clockwork), machines_(machines), board_(board), point_(std::move(point)) {}

    // Starts, with what of the journal has reached the disk.
    void start();
    // Dies: what has not reached the disk is lost, the last of it perhaps in the midst of a record.
    void die();
    bool alive() const { return dispatcher_ != nullptr; }
    // At a point of its own: dies as soon as the turn is over, and does nothing more until then.
    void fall_silent() { silent_ = true; }

    void set_frozen(bool frozen) { frozen_ = frozen; }
    void set_disk_fails(bool fails) { disk_fails_ = fails; }

    bool turn();
    // When it has something to do by itself, in its machine's time.
    std::optional<TimePoint> next_timer() const;

    const controller::Core& core() const { return dispatcher_->core(); }
    const std::string& broken() const { return broken_; }

  private:
    struct Record {
        std::vector<std::byte> bytes;
        TimePoint durable;
    };

    TimePoint now();
    bool tick();
    bool send(std::string_view route, std::span<const std::byte> message) override;
    void append(std::vector<std::byte> record) override;
    std::optional<base::Error> journal_failure() const override;
    void note(const controller::Note& /*note*/) override {}
    uint64_t clock_ns() const override { return base::now_ns(); }
    std::string status_json() const override { return "{}"; }

    Clockwork& clockwork_;
    Machines& machines_;
    Switchboard& board_;
    Point point_;
    std::unique_ptr<controller::Dispatcher> dispatcher_;
    controller::AwakeClock clock_{TimePoint{}};
    bool frozen_ = false;
    bool silent_ = false;
    bool disk_fails_ = false;
    uint64_t life_ = 0;
    TimePoint pulse_{};
    std::deque<Record> journal_;
    std::string broken_;  // why the journal could not be read; must stay empty
};

}  // namespace pace::world
