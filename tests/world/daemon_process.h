// DaemonProcess: one life of a daemon: its loop, transport, engine and link to the controller, as
// daemon/node.cpp puts them together, in simulated time. Trainers call the engine as a client's
// session does.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/clients/client_set.h"
#include "daemon/clients/listener.h"
#include "daemon/control/controller_link.h"
#include "daemon/gpu/gpu_groups.h"
#include "daemon/jobs/engine.h"
#include "tests/world/clients/processes.h"
#include "tests/world/disks/disk.h"
#include "tests/world/disks/files.h"
#include "tests/world/machine.h"
#include "tests/world/wire.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::world {

// The parts of a world that every daemon of it uses.
struct Surroundings {
    Clockwork& clockwork;
    Machines& machines;
    Switchboard& board;
    transports::MemoryNetwork& network;
    Ways& ways;
    const Files& files;  // for checkpoints
    Processes& processes;
    // The daemon of this machine has come to a point of the client plane.
    std::function<void(const std::string& point, MachineId machine)> at_point;
};

class DaemonProcess final : public Process {
  public:
    DaemonProcess(const Surroundings& in, MachineId machine, uint64_t life,
                  std::shared_ptr<const TimePoint> stalls_until);
    // The process is killed.
    ~DaemonProcess() override;
    DaemonProcess(const DaemonProcess&) = delete;
    DaemonProcess& operator=(const DaemonProcess&) = delete;

    // Real clients connect to the socket at this path.
    void listen(const std::string& path);
    size_t clients() const { return clients_ ? clients_->summaries().size() : 0; }

    // Nothing that this process does is seen by others any more.
    void fall_silent();
    // Its machine has lost its power: peers are told nothing.
    void vanish();

    void set_frozen(bool frozen);
    bool frozen() const { return frozen_; }
    uint64_t life() const { return life_; }

    // A trainer's request to the engine, made at the daemon's next turn.
    void tell(std::function<void(daemon::Engine&)> ask) { inbox_.push_back(std::move(ask)); }

    // Kept for as long as this process exists, because the engine refers to it. `let_go` gives back
    // what it holds of the engine, which goes first.
    void keep(std::shared_ptr<void> what, std::function<void()> let_go) {
        kept_.push_back({std::move(what), std::move(let_go)});
    }

    // One turn of its loop. False if it had nothing to do.
    bool turn();
    int wait(std::span<pollfd> watched, TimePoint deadline) override;
    void passes(const std::string& point) override;
    // When it has something to do by itself, in the machine's time.
    std::optional<TimePoint> next_timer() const { return loop_->next_timer(); }

    daemon::Engine& engine() { return *engine_; }
    const daemon::Services& services() const { return *services_; }
    transports::MemoryTransport& transport() { return *transport_; }
    bool attached() const { return link_ && link_->attached(); }

  private:
    daemon::ControllerLinkConfig link_config();

    const Surroundings in_;
    MachineId machine_;
    uint64_t life_;
    bool frozen_ = false;
    bool silent_ = false;
    bool vanished_ = false;
    struct Kept {
        std::shared_ptr<void> what;
        std::function<void()> let_go;
    };
    std::vector<Kept> kept_;
    std::deque<std::function<void(daemon::Engine&)>> inbox_;

    std::unique_ptr<base::EventLoop> loop_;
    daemon::Counters counters_;
    kernels::WorkerPool pool_{0};
    SimulatedDisk disk_;
    std::unique_ptr<transports::MemoryTransport> transport_;
    std::unique_ptr<daemon::Peers> peers_;
    Wire* wire_ = nullptr;  // the link's
    std::unique_ptr<daemon::ControllerLink> link_;
    daemon::GpuGroups gpu_groups_{*loop_, 0};
    std::unique_ptr<daemon::Services> services_;
    std::unique_ptr<daemon::Engine> engine_;

    std::unique_ptr<device::Devices> gpus_;
    std::unique_ptr<daemon::ClientContext> client_context_;
    std::unique_ptr<daemon::ClientSet> clients_;
    std::unique_ptr<daemon::Listener> listener_;
};

}  // namespace pace::world
