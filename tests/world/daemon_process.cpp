#include "tests/world/daemon_process.h"

#include <utility>

#include <fmt/format.h>

namespace pace::world {

namespace {

constexpr uint32_t kClientsMax = 1000;

}  // namespace

DaemonProcess::DaemonProcess(const Surroundings& in, MachineId machine, uint64_t life,
                             std::shared_ptr<const TimePoint> stalls_until)
    : in_(in),
      machine_(machine),
      life_(life),
      loop_(base::EventLoop::create().value()),
      disk_(in.clockwork, in.machines, machine, stalls_until),
      transport_(in.network.create()) {
    in_.ways.place(transport_->id(), machine);
    loop_->add_poller(transport_.get());
    peers_ = std::make_unique<daemon::Peers>(*transport_);
    link_ = daemon::ControllerLink::create(*loop_, link_config()).value();
    daemon::ExchangeOptions options;
    options.checkpoints = in_.files.folder_of(machine);
    options.buffers_keep = kKeptFor;
    options.unused_keep = kUnusedFor;
    services_ = std::make_unique<daemon::Services>(*loop_, *transport_, *peers_, pool_, counters_,
                                                   options, disk_, *link_, gpu_groups_);
    services_->lists =
        std::make_shared<SimulatedDisk>(in.clockwork, in.machines, machine, stalls_until);
    engine_ = std::make_unique<daemon::Engine>(*services_);
    loop_->when_out_of_memory([this] { engine_->run_out_of_memory(); });
    transport_->set_peer_lost_handler([this](transports::PeerId peer, const base::Error& error) {
        engine_->peer_lost(peer, error);
    });
    if (!link_->begin(*engine_)) std::abort();
}

daemon::ControllerLinkConfig DaemonProcess::link_config() {
    daemon::ControllerLinkConfig config;
    config.endpoint = "ipc://simulated";  // not used
    config.connect = [this] {
        auto wire = std::make_unique<Wire>(in_.board, machine_);
        wire_ = wire.get();
        return wire;
    };
    config.name = fmt::format("machine{}", machine_);
    config.host = config.name;
    config.generation = life_;
    config.address = transport_->address();
    config.processors = 8;
    return config;
}

// The parts of a killed process end, unseen by other processes: first all operations in the
// transport, then the rest in the order of Node::State's destructor.
DaemonProcess::~DaemonProcess() {
    fall_silent();
    const Processes::Runs runs(in_.processes, this);
    in_.machines.enter(machine_);
    loop_->when_out_of_memory({});
    inbox_.clear();
    listener_.reset();
    if (clients_) clients_->close_all();
    for (const Kept& kept : kept_) kept.let_go();
    transport_->end();
    engine_->shut_down();
    loop_->remove_poller(transport_.get());
    do loop_->settle(base::now() + std::chrono::seconds(1));
    while (transport_->poll());
    // Its buffers go while it runs.
    clients_.reset();
    engine_.reset();
    link_.reset();
}

void DaemonProcess::listen(const std::string& path) {
    const Processes::Runs runs(in_.processes, this);
    in_.machines.enter(machine_);
    gpus_ = std::make_unique<device::Devices>(*loop_, device::DeviceOptions{true, {}});
    client_context_ = std::make_unique<daemon::ClientContext>(
        *loop_, *engine_, *gpus_, services_->accounts, daemon::QuotaLimits());
    client_context_->node = fmt::format("machine{}", machine_);
    client_context_->generation = life_;
    clients_ = std::make_unique<daemon::ClientSet>(*client_context_, kClientsMax, counters_);
    listener_ = daemon::Listener::create(*loop_, path, "", [this](base::UniqueFd socket) {
                    clients_->add(std::move(socket));
                }).value();
}

void DaemonProcess::fall_silent() {
    if (std::exchange(silent_, true)) return;
    in_.machines.enter(machine_);
    wire_->fall_silent();
    if (listener_) in_.processes.cut_off(*this, listener_->path());
    if (!vanished_) in_.network.kill(*transport_);
}

void DaemonProcess::vanish() {
    vanished_ = true;
    in_.network.freeze(*transport_);
    fall_silent();
}

void DaemonProcess::set_frozen(bool frozen) {
    frozen_ = frozen;
    if (frozen)
        in_.network.freeze(*transport_);
    else
        in_.network.thaw(*transport_);
}

bool DaemonProcess::turn() {
    if (frozen_ || silent_) return false;
    const Processes::Runs runs(in_.processes, this);
    in_.machines.enter(machine_);
    bool worked = !inbox_.empty();
    for (auto asked = std::exchange(inbox_, {}); !asked.empty() && !silent_; asked.pop_front())
        asked.front()(*engine_);
    return loop_->turn(true) || worked;
}

// A daemon waits nowhere but in its loop.
int DaemonProcess::wait(std::span<pollfd> watched, TimePoint /*deadline*/) {
    return poll(watched.data(), watched.size(), 0);
}

void DaemonProcess::passes(const std::string& point) {
    if (!silent_) in_.at_point(point, machine_);
}

}  // namespace pace::world
