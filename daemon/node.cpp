#include "daemon/node.h"

#include <sys/epoll.h>

#include <thread>

#include "base/log.h"
#include "base/random.h"
#include "daemon/clients/client_set.h"
#include "daemon/clients/listener.h"
#include "daemon/control/controller_link.h"
#include "daemon/exchange/engine.h"
#include "daemon/nccl_choice.h"
#include "daemon/telemetry/document.h"
#include "protocol/nccl.h"
#include "service/controller/shell/controller_server.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"
#include "transports/ucx/devices.h"
#include "transports/ucx/ucx_transport.h"

namespace pace::daemon {

using base::Result;

// Members are destroyed in reverse order: clients first, then what they use.
struct Node::State {
    State(base::EventLoop& event_loop, const NodeConfig& node_config)
        : loop(event_loop),
          config(node_config),
          gpus(event_loop, node_config.gpu),
          pool(node_config.threads == 0 ? kernels::WorkerPool::default_threads()
                                        : node_config.threads) {}

    base::EventLoop& loop;
    NodeConfig config;
    uint64_t generation = base::random_token();
    base::TimePoint started = base::now();
    std::string devices = "none";
    device::Devices gpus;  // before all that may hold memory there
    NcclChoice nccl{.version = 0, .absence = "no GPU was looked for when the daemon started"};

    Counters counters;
    kernels::WorkerPool pool;
    base::BackgroundThread disk;
    std::unique_ptr<transports::MemoryNetwork>
        lonely;  // in place of a data plane, on a machine of its own
    std::unique_ptr<transports::Transport> transport;
    std::unique_ptr<Peers> peers;
    std::unique_ptr<Services> services;
    std::unique_ptr<Engine> engine;

    std::shared_ptr<control_zmq::Context> zmq;
    std::unique_ptr<controller::ControllerServer> server;
    std::unique_ptr<ControllerLink> link;

    std::unique_ptr<ClientContext> client_context;
    std::unique_ptr<ClientSet> clients;
    std::unique_ptr<Listener> listener;

    void find_gpus();
    Result<> open_transport();
    Result<> open_control();
    Result<> open_clients();
};

void Node::State::find_gpus() {
    gpus.look();
    // What is wrong with the setting is said where the transport is opened.
    if (const auto networks = transports::resolve_devices(config.data_interface))
        name_networks_for_nccl(*networks);
    nccl = choose_nccl(config.nccl, gpus);
    config.exchange.nccl = nccl.version;
    if (!gpus.absence().empty()) return;
    if (nccl.version != 0) {
        base::log_info("GPUs may exchange by NCCL",
                       {{"version", protocol::nccl_text(nccl.version)}});
    } else {
        base::log_info("GPUs exchange through the host, without NCCL", {{"reason", nccl.absence}});
    }
}

Result<> Node::State::open_transport() {
    if (config.controller.empty()) {
        // Its own controller means that there are no other nodes: no port is opened.
        lonely = std::make_unique<transports::MemoryNetwork>();
        transport = lonely->create();
    } else {
        PACE_TRY_ASSIGN(chosen, transports::resolve_devices(config.data_interface));
        devices = chosen;
        transports::UcxOptions options;
        options.net_devices = chosen;
        options.tls = config.data_transport;
        PACE_TRY_ASSIGN(ucx, transports::UcxTransport::create(options));
        transport = std::move(ucx);
    }
    if (transport->event_fd() >= 0)
        PACE_TRY(loop.watch(transport->event_fd(), EPOLLIN, [](uint32_t) {}));
    loop.add_poller(transport.get());
    peers = std::make_unique<Peers>(*transport);
    services =
        std::make_unique<Services>(loop, *transport, *peers, pool, counters, config.exchange, disk);
    services->gpus = &gpus;
    engine = std::make_unique<Engine>(*services);
    transport->set_peer_lost_handler([this](transports::PeerId peer, const base::Error& error) {
        engine->peer_lost(peer, error);
    });
    return {};
}

Result<> Node::State::open_control() {
    ControllerLinkConfig link_config;
    link_config.endpoint = config.controller;
    if (config.controller.empty()) {
        PACE_TRY_ASSIGN(context, control_zmq::Context::create());
        zmq = context;
        controller::ControllerConfig controller_config;
        link_config.endpoint = fmt::format("inproc://pace-{:x}", generation);
        controller_config.listen = {link_config.endpoint};
        controller_config.journal = config.journal;
        controller_config.heartbeat_ms = config.heartbeat_ms;
        controller_config.seed = generation;
        PACE_TRY_ASSIGN(created,
                        controller::ControllerServer::create(loop, zmq, controller_config));
        server = std::move(created);
    }
    link_config.context = zmq;
    link_config.name = config.name;
    link_config.zone = config.zone;
    link_config.nccl = nccl.version;
    link_config.generation = generation;
    link_config.address = transport->address();
    link_config.host = config.name;
    link_config.processors = std::thread::hardware_concurrency();
    link_config.controller_key_file = config.curve_server_key_file;
    link_config.secret_key_file = config.curve_secret_file;
    PACE_TRY_ASSIGN(created, ControllerLink::create(loop, link_config, *engine));
    link = std::move(created);
    services->control = link.get();
    return {};
}

Result<> Node::State::open_clients() {
    client_context = std::make_unique<ClientContext>(loop, *engine, gpus, config.limits);
    client_context->budget.bytes_max = config.memory_max;
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

Result<std::unique_ptr<Node>> Node::create(base::EventLoop& loop, const NodeConfig& config) {
    auto state = std::make_unique<State>(loop, config);
    if (config.find_gpus) state->find_gpus();  // first: the hello tells of them
    PACE_TRY(state->open_transport());
    PACE_TRY(state->open_control());
    PACE_TRY(state->open_clients());
    std::unique_ptr<Node> node(new Node(std::move(state)));
    node->state_->client_context->daemon_document = [raw = node.get()] { return raw->document(); };
    return node;
}

Node::Node(std::unique_ptr<State> state) : state_(std::move(state)) {}

Node::~Node() {
    if (!state_->clients) return;
    state_->listener.reset();
    state_->clients->close_all();
    state_->engine->shut_down();
    state_->link->send(control::Goodbye{"stopping"});
    state_->loop.remove_poller(state_->transport.get());
    if (state_->transport->event_fd() >= 0) state_->loop.unwatch(state_->transport->event_fd());
}

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
    source.transport = state_->transport->name();
    source.devices = state_->devices;
    source.address_bytes = state_->transport->address().size();
    source.threads = state_->pool.threads();
    source.limits = state_->config.limits;
    source.memory_max = state_->config.memory_max;
    source.memory_used = state_->client_context->budget.bytes_used;
    source.clients_max = state_->config.clients_max;
    source.clients = state_->clients->summaries();
    source.shards = state_->engine->shards();
    source.gpus = state_->gpus.list();
    source.gpus_absent = state_->gpus.absence();
    source.cuda_version = state_->gpus.driver_version();
    source.nccl = state_->nccl.version;
    source.nccl_absent = state_->nccl.absence;
    source.counters = state_->counters;
    return daemon_document(source);
}

std::string Node::status_line() const {
    return fmt::format("{} clients, {} jobs, controller {}", state_->clients->summaries().size(),
                       state_->engine->jobs(),
                       state_->link->attached() ? "attached" : "not reachable");
}

}  // namespace pace::daemon
