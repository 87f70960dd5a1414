// Machine: a clock that stands still while the machine sleeps, and what lies between machines.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/simulation/simulated_time.h"
#include "tests/world/clockwork.h"
#include "transports/memory/memory_network.h"

namespace pace::world {

// How long a world's daemons keep the buffers of dead trainers, and its controller keeps jobs whose
// workers all died. The time is shorter than the defaults, so that a run sees it end.
inline constexpr Duration kKeptFor = std::chrono::seconds(20);
// The same for what daemons keep of jobs that have no workers there.
inline constexpr Duration kUnusedFor = std::chrono::seconds(2);

// The controller has a machine of its own, behind those of the daemons.
using MachineId = uint32_t;

class Machines {
  public:
    Machines(Clockwork& clockwork, uint32_t count) : clockwork_(clockwork), slept_(count + 1) {}

    uint32_t count() const { return static_cast<uint32_t>(slept_.size()) - 1; }
    MachineId controllers() const { return count(); }

    // Code of this machine runs now: base::now() is the machine's time.
    void enter(MachineId machine) const {
        base::SimulatedTime::set(clockwork_.now() - slept_.at(machine), slept_.at(machine));
    }
    // When it is this time on the machine, unless the machine sleeps before.
    TimePoint at_home(MachineId machine, TimePoint local) const {
        return local + slept_.at(machine);
    }
    void has_slept(MachineId machine, Duration length) { slept_.at(machine) += length; }

    // Ways between two machines, each direction apart. A cut counts, so that cuts may overlap.
    void cut(MachineId from, MachineId to, int by) { cuts_[{from, to}] += by; }
    bool is_cut(MachineId from, MachineId to) const {
        const auto found = cuts_.find({from, to});
        return found != cuts_.end() && found->second > 0;
    }
    void slow(MachineId from, MachineId to, int by) { slow_[{from, to}] += by; }
    bool is_slow(MachineId from, MachineId to) const {
        const auto found = slow_.find({from, to});
        return found != slow_.end() && found->second > 0;
    }
    // How long a message takes.
    Duration delay(MachineId from, MachineId to) {
        using std::chrono::microseconds;
        const Duration usual = clockwork_.uniform(microseconds(20), microseconds(300));
        return is_slow(from, to)
                   ? usual + clockwork_.uniform(microseconds(5000), microseconds(60000))
                   : usual;
    }

  private:
    Clockwork& clockwork_;
    std::vector<Duration> slept_;
    std::map<std::pair<MachineId, MachineId>, int> cuts_;
    std::map<std::pair<MachineId, MachineId>, int> slow_;
};

// The network between the daemons' transports.
class Ways final : public transports::MemoryWays {
  public:
    Ways(Clockwork& clockwork, Machines& machines) : clockwork_(clockwork), machines_(machines) {}

    void place(transports::EndpointId endpoint, MachineId machine) { places_[endpoint] = machine; }

    TimePoint arrival(transports::EndpointId from, transports::EndpointId to,
                      size_t /*bytes*/) override {
        TimePoint& last = last_[{from, to}];
        last = std::max(last, clockwork_.now() + machines_.delay(places_[from], places_[to]));
        return last;
    }
    bool passes(transports::EndpointId from, transports::EndpointId to,
                TimePoint arrives) const override {
        return arrives <= clockwork_.now() && !machines_.is_cut(places_.at(from), places_.at(to));
    }

  private:
    Clockwork& clockwork_;
    Machines& machines_;
    std::map<transports::EndpointId, MachineId> places_;
    std::map<std::pair<transports::EndpointId, transports::EndpointId>, TimePoint> last_;
};

}  // namespace pace::world
