// SimulatedDisk: work on a disk, done in order, each piece at its time in the world. A disk that
// stalls does nothing for a while. Work that has not begun is dropped when its process dies.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "base/threads/background_thread.h"
#include "tests/world/clockwork.h"
#include "tests/world/machine.h"

namespace pace::world {

class SimulatedDisk final : public base::BackgroundThread {
  public:
    // `stalls_until`: the machine's, shared by its disks.
    SimulatedDisk(Clockwork& clockwork, Machines& machines, MachineId machine,
                  std::shared_ptr<const TimePoint> stalls_until)
        : clockwork_(clockwork),
          machines_(machines),
          machine_(machine),
          stalls_until_(std::move(stalls_until)) {}

    void run(std::function<void()> work) override {
        waiting_->push_back(std::move(work));
        if (waiting_->size() == 1) begin();
    }

  private:
    void begin() {
        const Duration takes =
            clockwork_.uniform(std::chrono::microseconds(100), std::chrono::milliseconds(15));
        const TimePoint begins = std::max(clockwork_.now(), *stalls_until_);
        clockwork_.at(begins + takes, [this, alive = std::weak_ptr(waiting_)] {
            const auto waiting = alive.lock();
            if (!waiting || waiting->empty()) return;
            if (*stalls_until_ > clockwork_.now()) return begin();
            machines_.enter(machine_);
            const std::function<void()> work = std::move(waiting->front());
            waiting->pop_front();
            work();
            if (!waiting->empty()) begin();
        });
    }

    Clockwork& clockwork_;
    Machines& machines_;
    MachineId machine_;
    std::shared_ptr<const TimePoint> stalls_until_;
    std::shared_ptr<std::deque<std::function<void()>>> waiting_ =
        std::make_shared<std::deque<std::function<void()>>>();
};

}  // namespace pace::world
