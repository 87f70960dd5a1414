// ControllerProcess: the controller's lives: the dispatcher and its core around a journal on a
// simulated disk, as ControllerServer puts them together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "service/controller/shell/awake_clock.h"
#include "service/controller/shell/dispatch/dispatcher.h"
#include "tests/world/disks/journal_disk.h"
#include "tests/world/machine.h"
#include "tests/world/wire.h"

namespace pace::world {

class ControllerProcess final : public controller::Outlet {
  public:
    // Called before and after each record is appended. False: the controller has died there.
    using Point = std::function<bool(const char* when)>;

    ControllerProcess(Clockwork& clockwork, Machines& machines, Switchboard& board, Point point)
        : clockwork_(clockwork),
          machines_(machines),
          board_(board),
          point_(std::move(point)),
          journal_(clockwork) {}

    // Starts, with what of the journal has reached the disk.
    void start();
    // Dies: what has not reached the disk is lost, in whole or in part.
    void die();
    // Of a dead controller: the next one finds no journal.
    void lose_journal() { journal_.lose(); }
    bool alive() const { return dispatcher_ != nullptr; }
    // At a point of its own: dies as soon as the turn is over, and does nothing more until then.
    void fall_silent() { silent_ = true; }

    void set_frozen(bool frozen) { frozen_ = frozen; }
    void set_disk_fails(bool fails) { journal_.set_fails(fails); }

    bool turn();
    // When it has something to do by itself, in its machine's time.
    std::optional<TimePoint> next_timer() const;

    const controller::Core& core() const { return dispatcher_->core(); }
    const std::string& broken() const { return broken_; }
    // What it has told people, in all its lives, and how often.
    const std::map<std::string, uint32_t>& notes() const { return notes_; }

  private:
    TimePoint now();
    bool tick();
    bool send(std::string_view route, std::span<const std::byte> message) override;
    void append(std::vector<std::byte> record) override;
    std::optional<base::Error> journal_failure() const override;
    void note(const controller::Note& note) override { ++notes_[note.event]; }
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
    uint64_t life_ = 0;
    TimePoint pulse_{};
    JournalDisk journal_;
    std::map<std::string, uint32_t> notes_;
    std::string broken_;  // why the journal could not be read; must stay empty
};

}  // namespace pace::world
