#include "transports/memory/memory_network.h"

#include <utility>

#include "transports/memory/memory_transport.h"

namespace pace::transports {

MemoryNetwork::MemoryNetwork(std::optional<uint64_t> seed, MemoryWays* ways) : ways_(ways) {
    if (seed) random_.emplace(*seed);
}

MemoryNetwork::~MemoryNetwork() = default;

std::unique_ptr<MemoryTransport> MemoryNetwork::create() {
    const EndpointId id = next_id_++;
    std::unique_ptr<MemoryTransport> transport(new MemoryTransport(*this, id));
    endpoints_[id].transport = transport.get();
    return transport;
}

void MemoryNetwork::kill(const MemoryTransport& endpoint) {
    Endpoint* killed = find(endpoint.id_);
    if (killed == nullptr || !killed->alive) return;
    killed->alive = false;
    killed->inbox.clear();
    for (auto& [id, other] : endpoints_) {
        other.inbox.erase(endpoint.id_);
        if (other.alive) other.transport->doom(endpoint.id_);
    }
}

void MemoryNetwork::freeze(const MemoryTransport& endpoint) {
    if (Endpoint* found = find(endpoint.id_)) found->frozen = true;
}

void MemoryNetwork::thaw(const MemoryTransport& endpoint) {
    if (Endpoint* found = find(endpoint.id_)) found->frozen = false;
}

void MemoryNetwork::part(const MemoryTransport& one, const MemoryTransport& other) {
    Endpoint* const first = find(one.id_);
    Endpoint* const second = find(other.id_);
    if (first == nullptr || second == nullptr || !first->alive || !second->alive) return;
    first->inbox.erase(other.id_);
    second->inbox.erase(one.id_);
    first->transport->doom(other.id_, sequence_);
    second->transport->doom(one.id_, sequence_);
}

std::optional<base::TimePoint> MemoryNetwork::next_arrival() const {
    std::optional<base::TimePoint> next;
    for (const auto& [to, endpoint] : endpoints_)
        for (const auto& [from, channel] : endpoint.inbox)
            if (!channel.empty() && (!next || channel.front().arrives < *next))
                next = channel.front().arrives;
    return next;
}

bool MemoryNetwork::progress() {
    std::vector<EndpointId> order;
    order.reserve(endpoints_.size());
    for (const auto& [id, endpoint] : endpoints_) order.push_back(id);
    if (random_) {
        for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_->below(i)]);
    }
    bool worked = false;
    for (const EndpointId id : order) {
        // A completion may have destroyed an endpoint of this round.
        const Endpoint* endpoint = find(id);
        if (endpoint != nullptr) worked = endpoint->transport->poll() || worked;
    }
    return worked;
}

bool MemoryNetwork::alive(EndpointId id) const {
    const auto endpoint = endpoints_.find(id);
    return endpoint != endpoints_.end() && endpoint->second.alive;
}

bool MemoryNetwork::runs(EndpointId id) const {
    const auto endpoint = endpoints_.find(id);
    return endpoint != endpoints_.end() && endpoint->second.alive && !endpoint->second.frozen;
}

MemoryNetwork::Endpoint* MemoryNetwork::find(EndpointId id) {
    const auto endpoint = endpoints_.find(id);
    return endpoint == endpoints_.end() ? nullptr : &endpoint->second;
}

void MemoryNetwork::remove(EndpointId id) {
    const auto endpoint = endpoints_.find(id);
    if (endpoint == endpoints_.end()) return;
    kill(*endpoint->second.transport);
    endpoints_.erase(id);
}

void MemoryNetwork::post(EndpointId from, EndpointId to, MemoryMessage message) {
    message.sequence = sequence_++;
    Endpoint* endpoint = find(to);
    if (endpoint == nullptr || !endpoint->alive) return;
    if (ways_ != nullptr) message.arrives = ways_->arrival(from, to, message.size);
    endpoint->inbox[from].push_back(std::move(message));
}

}  // namespace pace::transports
