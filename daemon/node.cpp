#include "daemon/node.h"

#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "base/log/daemon_events.h"
#include "base/log/log.h"
#include "base/random.h"
#include "base/threads/release_thread.h"
#include "daemon/clients/client_set.h"
#include "daemon/clients/listener.h"
#include "daemon/control/controller_link.h"
#include "daemon/data_plane.h"
#include "daemon/gpu/gpu_groups.h"
#include "daemon/jobs/engine.h"
#include "daemon/nccl_choice.h"
#include "daemon/telemetry/document.h"
#include "daemon/telemetry/node_recordings.h"
#include "protocol/nccl.h"
#include "service/controller/shell/controller_server.h"
#include "transports/memory/memory_network.h"
#include "transports/network/interfaces.h"

namespace pace::daemon {

using base::Result;

namespace {

// How long a stopping daemon waits for running operations.
constexpr base::Duration kSettleMax = std::chrono::seconds(1);

uint32_t descriptors_in_use() {
    std::error_code failed;
    const std::filesystem::directory_iterator descriptors("/proc/self/fd", failed);
    if (failed) return 0;
    return static_cast<uint32_t>(std::distance(begin(descriptors), end(descriptors)));
}

}  // namespace

// Members are destroyed in reverse order: clients first, then the objects that clients use.
struct Node::State {
    State(base::EventLoop& event_loop, const NodeConfig& node_config)
        : loop(event_loop),
          config(node_config),
          gpus(event_loop, node_config.gpu),
          pool(node_config.threads == 0 ? kernels::WorkerPool::default_threads()
                                        : node_config.threads) {}

    // Also called for a State that could not open everything.
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    base::EventLoop& loop;
    base::ReleaseThread releaser;  // before all members that have memory
    NodeConfig config;
    uint64_t generation = base::random_token();
    base::TimePoint started = base::now();
    std::string devices = "none";
    device::Devices gpus;  // before all members that may hold GPU memory
    NcclChoice nccl{.version = 0, .absence = "no GPU was looked for when the daemon started"};

    Counters counters;
    kernels::WorkerPool pool;
    base::BackgroundThread disk;
    std::unique_ptr<transports::MemoryNetwork> lonely;  // see DataPlane
    std::unique_ptr<transports::Transport> transport;
    std::unique_ptr<Peers> peers;

    std::shared_ptr<control_zmq::Context> zmq;
    std::unique_ptr<controller::ControllerServer> server;
    std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
    std::unique_ptr<ControllerLink> link;

    std::unique_ptr<GpuGroups> gpu_groups;  // before the jobs, whose results may lie in its memory
    std::unique_ptr<Services> services;
    std::unique_ptr<Engine> engine;

    std::unique_ptr<ClientContext> client_context;
    std::unique_ptr<ClientSet> clients;
    std::unique_ptr<Listener> listener;

    std::unique_ptr<NodeRecordings> recordings;  // after all whom it calls back

    void find_gpus();
    void open_recordings();
    Result<> open_transport();
    Result<> open_control();
    ControllerLinkConfig link_config() const;
    void make_engine();
    Result<> open_clients();
    void keep_descriptors();
};

// Ends everything in flight, with other nodes, in the pool or in the loop, while all that it calls
// back still lives.
Node::State::~State() {
    loop.when_out_of_memory({});
    listener.reset();
    if (clients) clients->close_all();
    if (engine) engine->shut_down();
    if (link) link->send(control::Goodbye{"stopping"});
    if (services) services->recordings = &Recordings::none();
    if (!transport) return;
    loop.remove_poller(transport.get());
    if (transport->event_fd() >= 0) loop.unwatch(transport->event_fd());
    transport->end();
    pool.stop();
    const base::TimePoint deadline = base::now() + kSettleMax;
    do loop.settle(deadline);
    while (transport->poll() && base::now() < deadline);
}

void Node::State::find_gpus() {
    gpus.look();
    // If the setting is wrong, open_transport() reports that.
    const auto networks = transports::resolve_devices(config.data_interface);
    if (networks) name_networks_for_nccl(*networks);
    nccl = choose_nccl(config.nccl, gpus);
    const bool is_alone = config.controller.empty();
    if (nccl.version != 0 && !is_alone && !(networks && is_closed(config, *networks)))
        nccl = {0, "NCCL neither encrypts nor authenticates, and closed_network is not set"};
    config.exchange.nccl = nccl.version;
    if (!gpus.absence().empty()) return;
    // A daemon in its trainer's process has no buffers on GPUs (Client::check_apart).
    if (!config.hosted) gpus.open_all();
    if (nccl.version != 0) {
        base::log_info("GPUs may exchange by NCCL",
                       {{"version", protocol::nccl_text(nccl.version)}});
    } else {
        base::log_event(base::events::kNcclAbsent, {{"reason", nccl.absence}});
    }
}

Result<> Node::State::open_transport() {
    PACE_TRY_ASSIGN(opened, open_data_plane(config));
    devices = opened.devices;
    lonely = std::move(opened.lonely);
    transport = std::move(opened.transport);
    loop.add_poller(transport.get());
    if (transport->event_fd() >= 0)
        PACE_TRY(loop.watch(transport->event_fd(), EPOLLIN, [](uint32_t) {}));
    peers = std::make_unique<Peers>(*transport);
    return {};
}

Result<> Node::State::open_control() {
    ControllerLinkConfig own = link_config();
    if (config.controller.empty()) {
        PACE_TRY_ASSIGN(context, control_zmq::Context::create());
        zmq = context;
        controller::ControllerConfig controller_config;
        own.endpoint = fmt::format("inproc://pace-{:x}", generation);
        controller_config.listen = {own.endpoint};
        controller_config.journal = config.journal;
        controller_config.heartbeat_ms = config.heartbeat_ms;
        controller_config.seed = generation;
        PACE_TRY_ASSIGN(created,
                        controller::ControllerServer::create(loop, zmq, controller_config));
        server = std::move(created);
    }
    own.context = zmq;
    PACE_TRY_ASSIGN(created, ControllerLink::create(loop, own));
    link = std::move(created);
    return {};
}

ControllerLinkConfig Node::State::link_config() const {
    ControllerLinkConfig own;
    own.endpoint = config.controller;
    own.name = config.name;
    own.zone = config.zone;
    own.nccl = nccl.version;
    own.hosted = config.hosted;
    own.generation = generation;
    own.address = transport->address();
    own.host = config.name;
    own.processors = std::thread::hardware_concurrency();
    own.controller_key_file = config.curve_server_key_file;
    own.secret_key_file = config.curve_secret_file;
    own.insecure = config.insecure;
    own.recorder = recorder;
    return own;
}

void Node::State::make_engine() {
    gpu_groups = std::make_unique<GpuGroups>(loop, config.exchange.nccl_communicators);
    services = std::make_unique<Services>(loop, *transport, *peers, pool, counters, config.exchange,
                                          disk, *link, *gpu_groups);
    services->gpus = &gpus;
    services->accounts = Accounts::create(config.accounts);
    services->recorder = recorder;
    engine = std::make_unique<Engine>(*services);
    loop.when_out_of_memory([this] { engine->run_out_of_memory(); });
    open_recordings();
    transport->set_peer_lost_handler([this](transports::PeerId peer, const base::Error& error) {
        engine->peer_lost(peer, error);
    });
}

// A daemon in its trainer's process keeps no files.
void Node::State::open_recordings() {
    recordings = std::make_unique<NodeRecordings>(
        loop, NodeRecordings::Source{
                  .node = config.name,
                  .recorder = recorder,
                  .self = [this] { return services->self; },
                  .controller_clock = [this] { return link->clock(); },
                  .folder = config.hosted ? std::filesystem::path() : recordings_folder(),
              });
    services->recordings = recordings.get();
}

Result<> Node::State::open_clients() {
    client_context =
        std::make_unique<ClientContext>(loop, *engine, gpus, services->accounts, config.limits);
    client_context->node = config.name;
    client_context->generation = generation;
    clients = std::make_unique<ClientSet>(*client_context, config.clients_max, counters);
    if (config.socket.empty()) return {};
    PACE_TRY_ASSIGN(created, Listener::create(loop, config.socket, config.socket_group,
                                              [this](base::UniqueFd socket) {
                                                  clients->add(std::move(socket));
                                              }));
    listener = std::move(created);
    return {};
}

// UCX ends the process if it finds no descriptor for a peer. So clients are refused earlier: a
// quarter of all descriptors is reserved for peers. A guess: a peer takes two or three, and a
// cluster whose daemons may have 65,536 has fewer than 5,000 nodes.
void Node::State::keep_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const auto all = static_cast<uint32_t>(std::min<rlim_t>(limit.rlim_cur, 1U << 30U));
    const uint32_t kept = all / 4 + descriptors_in_use();
    services->accounts->set_descriptors_max(std::max(all, kept + 1) - kept);
}

Result<std::unique_ptr<Node>> Node::create(base::EventLoop& loop, const NodeConfig& config) {
    auto state = std::make_unique<State>(loop, config);
    loop.watch_of_steps().set_handler([state = state.get()](const base::LoopWatch::Step& step) {
        base::log_event(base::events::kLoopStoodStill,
                        {{"ms", base::to_seconds(step.took) * 1e3}, {"callback", step.origin}});
        state->recorder->note(
            {.kind = RecordKind::loop_stood_still,
             .amount = static_cast<uint64_t>(step.took / std::chrono::microseconds(1))});
    });
    if (config.find_gpus) state->find_gpus();  // first, since the hello reports them
    PACE_TRY(state->open_transport());
    PACE_TRY(state->open_control());
    state->make_engine();
    PACE_TRY(state->link->begin(*state->engine));
    PACE_TRY(state->open_clients());
    state->keep_descriptors();
    std::unique_ptr<Node> node(new Node(std::move(state)));
    node->state_->client_context->recording = [own = node->state_.get()](auto made) {
        own->recordings->make(std::move(made));
    };
    node->state_->client_context->daemon_document = [raw = node.get()] { return raw->document(); };
    return node;
}

Node::Node(std::unique_ptr<State> state) : state_(std::move(state)) {}

Node::~Node() = default;

void Node::add_client(base::UniqueFd socket) {
    state_->clients->add(std::move(socket));
}

std::string Node::document() const {
    DocumentSource source;
    source.name = state_->config.name;
    source.socket = state_->config.socket;
    source.started = state_->started;
    source.controller = state_->config.controller;
    source.controller_reachable = state_->link->controller_reachable();
    if (const auto problem = state_->link->problem()) source.controller_problem = problem->message;
    source.transport = state_->transport->name();
    source.transports = state_->config.data_transport;
    source.devices = state_->devices;
    source.address_bytes = state_->transport->address().size();
    source.threads = state_->pool.threads();
    source.limits = state_->config.limits;
    source.accounts = state_->services->accounts->limits();
    source.users = state_->services->accounts->users();
    source.memory_used = state_->services->accounts->bytes_used();
    source.clients_max = state_->config.clients_max;
    source.clients = state_->clients->summaries();
    source.shards = state_->engine->shards();
    source.waits = state_->engine->waits();
    source.messages_unexpected = state_->transport->counters().messages_unexpected;
    source.gpus = state_->gpus.list();
    source.gpus_absent = state_->gpus.absence();
    source.cuda_version = state_->gpus.driver_version();
    source.nccl = state_->nccl.version;
    source.nccl_absent = state_->nccl.absence;
    source.counters = state_->counters;
    source.loop_longest = state_->loop.watch_of_steps().longest();
    source.loop_long_steps = state_->loop.watch_of_steps().long_steps();
    source.heartbeat_late = state_->link->counters().heartbeat_late;
    return daemon_document(source);
}

std::string Node::status_line() const {
    std::string controller = state_->link->attached() ? "attached" : "not attached";
    if (const auto problem = state_->link->problem()) controller += ": " + problem->message;
    return fmt::format("{} clients, {} jobs, controller {}", state_->clients->summaries().size(),
                       state_->engine->jobs(), controller);
}

// The transport and the trainers' socket are open for as long as the node exists.
std::optional<std::string> Node::obstacle() const {
    if (state_->server)
        if (auto why = state_->server->obstacle()) return why;
    if (state_->link->attached()) return std::nullopt;
    return fmt::format(
        "not attached to the controller {}; is it running, and do the keys fit?",
        state_->config.controller.empty() ? "in this process" : state_->config.controller);
}

controller::ControllerServer* Node::controller() {
    return state_->server.get();
}

}  // namespace pace::daemon
