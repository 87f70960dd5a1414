#include "daemon/clients/client_set.h"

#include "base/log/daemon_events.h"

namespace pace::daemon {

namespace {

// Time for all clients' submissions together, before the loop looks at everything else. A guess:
// far below the permitted lateness of a heartbeat.
constexpr base::Duration kAllTurnsMax = std::chrono::milliseconds(10);

}  // namespace

ClientSet::ClientSet(ClientContext& context, uint32_t clients_max, Counters& counters)
    : context_(context), clients_max_(clients_max), counters_(counters) {
    context_.loop.add_poller(this);
}

ClientSet::~ClientSet() {
    close_all();
    context_.loop.remove_poller(this);
}

void ClientSet::add(base::UniqueFd socket) {
    const auto process = peer_process(socket.get());
    if (!process) {
        base::log_event(base::events::kClientRefused, {{"reason", process.error().message}});
        return;
    }
    const uint64_t id = next_++;
    auto charge =
        context_.accounts->charge(process->uid, {.clients = 1, .descriptors = 1}, "a connection");
    auto client = std::make_unique<Client>(context_, std::move(socket), *process,
                                           charge ? std::move(*charge) : Charge(),
                                           scope_.callback([this, id] { clients_.erase(id); }));
    Client& added = *client;
    clients_.emplace(id, std::move(client));
    ++counters_.clients_accepted;
    base::Result<> fits = charge ? base::Result<>() : base::Result<>(charge.error());
    if (clients_.size() > clients_max_)
        fits = base::make_error(
            base::ErrorKind::limit,
            "this daemon has {} clients, its limit (clients_max); close some or raise it",
            clients_max_);
    if (fits) return;
    ++counters_.clients_refused;
    added.refuse(fits.error());
}

std::vector<Client::Summary> ClientSet::summaries() const {
    std::vector<Client::Summary> summaries;
    for (const auto& [id, client] : clients_) summaries.push_back(client->summary());
    return summaries;
}

void ClientSet::close_all() {
    clients_.clear();
}

// Polls clients in the order of their numbers, from where the last call stopped.
bool ClientSet::poll() {
    bool worked = false;
    const base::TimePoint began = base::now();
    auto client = clients_.lower_bound(next_turn_);
    for (size_t left = clients_.size(); left > 0; --left) {
        if (client == clients_.end()) client = clients_.begin();
        const bool had_work = client->second->poll_ring();
        worked = had_work || worked;
        ++client;
        if (had_work && base::now() - began >= kAllTurnsMax) break;
    }
    next_turn_ = client == clients_.end() ? 0 : client->first;
    return worked;
}

bool ClientSet::arm() {
    bool nothing = true;
    for (const auto& [id, client] : clients_) nothing = client->arm_ring() && nothing;
    return nothing;
}

void ClientSet::disarm() {
    for (const auto& [id, client] : clients_) client->disarm_ring();
}

}  // namespace pace::daemon
