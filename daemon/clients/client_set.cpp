#include "daemon/clients/client_set.h"

#include "base/log.h"

namespace pace::daemon {

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
        base::log_warning("client refused", {{"reason", process.error().message}});
        return;
    }
    const uint64_t id = next_++;
    auto client = std::make_unique<Client>(context_, std::move(socket), *process,
                                           [this, id] { clients_.erase(id); });
    Client& added = *client;
    clients_.emplace(id, std::move(client));
    ++counters_.clients_accepted;
    if (clients_.size() > clients_max_) {
        ++counters_.clients_refused;
        added.refuse(base::make_error(
            base::ErrorKind::limit,
            "this daemon has {} clients, its limit (clients_max); close some or raise it",
            clients_max_));
    }
}

std::vector<Client::Summary> ClientSet::summaries() const {
    std::vector<Client::Summary> summaries;
    for (const auto& [id, client] : clients_) summaries.push_back(client->summary());
    return summaries;
}

void ClientSet::close_all() {
    clients_.clear();
}

bool ClientSet::poll() {
    bool worked = false;
    for (const auto& [id, client] : clients_) worked = client->poll_ring() || worked;
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
