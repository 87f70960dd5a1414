#include "transports/memory/memory_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

namespace {

constexpr std::string_view kAddressPrefix = "memory:";

Address make_address(EndpointId id) {
    Address address(kAddressPrefix.size() + sizeof(id));
    std::memcpy(address.data(), kAddressPrefix.data(), kAddressPrefix.size());
    std::memcpy(address.data() + kAddressPrefix.size(), &id, sizeof(id));
    return address;
}

base::Result<EndpointId> parse_address(std::span<const std::byte> address) {
    EndpointId id = 0;
    if (address.size() != kAddressPrefix.size() + sizeof(id) ||
        std::memcmp(address.data(), kAddressPrefix.data(), kAddressPrefix.size()) != 0) {
        return make_error(ErrorKind::invalid, "{} bytes that are no memory transport's address",
                          address.size());
    }
    std::memcpy(&id, address.data() + kAddressPrefix.size(), sizeof(id));
    return id;
}

}  // namespace

MemoryTransport::MemoryTransport(MemoryNetwork& network, EndpointId id)
    : network_(network), id_(id), address_(make_address(id)) {}

MemoryTransport::~MemoryTransport() {
    end();
    while (completions_.run()) {
    }
}

void MemoryTransport::end() {
    if (std::exchange(ended_, true)) return;
    for (PeerId peer = 0; peer < peers_.size(); ++peer) end_peer(peer, has_ended());
    network_.remove(id_);
    while (completions_.run()) {
    }
}

base::Result<PeerId> MemoryTransport::connect(std::span<const std::byte> address) {
    if (ended_) return make_error(ErrorKind::closed, "the transport has ended");
    PACE_TRY_ASSIGN(endpoint, parse_address(address));
    if (endpoint == id_)
        return make_error(ErrorKind::invalid, "the address is this transport's own");
    if (endpoint >= network_.next_id_)
        return make_error(ErrorKind::invalid, "endpoint {} never was in this network", endpoint);
    if (const auto known = connected_.find(endpoint); known != connected_.end())
        return known->second;
    const auto peer = static_cast<PeerId>(peers_.size());
    peers_.emplace_back().endpoint = endpoint;
    connected_.emplace(endpoint, peer);
    disconnected_.erase(endpoint);
    return peer;
}

void MemoryTransport::disconnect(PeerId peer) {
    if (peer >= peers_.size() || peers_[peer].gone) return;
    end_peer(peer, make_error(ErrorKind::unavailable, "peer {} was disconnected", peer));
}

void MemoryTransport::give_up(PeerId peer, const base::Error& error) {
    if (ended_ || peer >= peers_.size() || peers_[peer].gone) return;
    lose(peer, error);
}

MemoryTransport::Peer* MemoryTransport::usable_peer(PeerId peer, Completion& completion) {
    if (peer >= peers_.size()) {
        completions_.push(std::move(completion), unknown_peer(peer));
        return nullptr;
    }
    if (ended_) {
        completions_.push(std::move(completion), has_ended());
        return nullptr;
    }
    Peer& found = peers_[peer];
    if (!network_.alive(found.endpoint)) found.doomed = true;
    if (!found.gone && !found.doomed) return &found;
    completions_.push(std::move(completion),
                      make_error(ErrorKind::unavailable, "peer {} is gone", peer));
    return nullptr;
}

void MemoryTransport::send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
                           Completion completion) {
    Peer* to = usable_peer(peer, completion);
    if (to == nullptr) return;
    MemoryMessage message;
    message.tag = tag;
    message.size = bytes.size();
    ++counters_.messages_sent;
    counters_.bytes_sent += bytes.size();
    if (bytes.size() <= MemoryNetwork::kCopiedBytesMax) {
        message.copy.assign(bytes.begin(), bytes.end());
        completions_.push(std::move(completion), {});
    } else {
        message.send = std::make_shared<MemorySend>(
            MemorySend{this, peer, bytes, std::move(completion), tag.exchange});
        to->sends.push_back(message.send);
    }
    network_.post(id_, to->endpoint, std::move(message));
}

void MemoryTransport::receive(PeerId peer, Tag tag, std::span<std::byte> bytes,
                              Completion completion) {
    if (usable_peer(peer, completion) == nullptr) return;
    if (closed_.contains(tag.exchange)) {
        completions_.push(std::move(completion), canceled_by_close(tag));
        return;
    }
    const MatchKey key = match_key(peer, tag);
    if (receives_.contains(key)) {
        completions_.push(std::move(completion), already_posted(tag, peer));
        return;
    }
    Receive posted{peer, tag, bytes, std::move(completion)};
    if (auto message = messages_.take(key)) {
        match(std::move(posted), std::move(*message));
    } else {
        receives_.put(key, std::move(posted));
    }
}

void MemoryTransport::close_exchange(uint64_t exchange) {
    closed_.add(exchange);
    for (Receive& receive : receives_.take_exchange(exchange))
        completions_.push(std::move(receive.completion), canceled_by_close(receive.tag));
    for (MemoryMessage& message : messages_.take_exchange(exchange)) end_send(message.send, {});
    for (Peer& peer : peers_) {
        std::erase_if(peer.sends, [&](const std::shared_ptr<MemorySend>& send) {
            if (send->exchange != exchange || send->asked_for) return false;
            send->owner = nullptr;
            completions_.push(
                std::move(send->completion),
                make_error(ErrorKind::canceled,
                           "exchange {:016x} was closed before it was asked for", exchange));
            return true;
        });
    }
}

void MemoryTransport::ping(PeerId peer) {
    if (peer < peers_.size() && !peers_[peer].gone) say(peer, MemoryMessage::Kind::ping);
}

base::TimePoint MemoryTransport::heard(PeerId peer) const {
    return peer < peers_.size() && peers_[peer].answered ? peers_[peer].heard : base::TimePoint{};
}

void MemoryTransport::say(PeerId peer, MemoryMessage::Kind kind) {
    MemoryMessage message;
    message.kind = kind;
    network_.post(id_, peers_[peer].endpoint, std::move(message));
}

void MemoryTransport::set_peer_lost_handler(PeerLostHandler handler) {
    lost_handler_ = std::move(handler);
}

bool MemoryTransport::poll() {
    if (ended_) return completions_.run();
    if (!network_.runs(id_)) return false;
    bool worked = lose_doomed_peers();
    worked = finish_arrivals() || worked;
    worked = deliver() || worked;
    return completions_.run() || worked;
}

bool MemoryTransport::arm() {
    if (ended_) return completions_.empty();
    if (!network_.runs(id_)) return true;
    if (!completions_.empty()) return false;
    if (std::any_of(peers_.begin(), peers_.end(),
                    [](const Peer& p) { return p.doomed && !p.gone; }))
        return false;
    if (std::any_of(arrivals_.begin(), arrivals_.end(), [&](const Arrival& arrival) {
            return network_.passes(peers_[arrival.receive.peer].endpoint, id_, {});
        }))
        return false;
    const auto& inbox = network_.find(id_)->inbox;
    return std::none_of(inbox.begin(), inbox.end(), [&](const auto& channel) {
        return connected_.contains(channel.first) && !channel.second.empty() &&
               network_.passes(channel.first, id_, channel.second.front().arrives);
    });
}

void MemoryTransport::doom(EndpointId endpoint, uint64_t at) {
    const auto known = connected_.find(endpoint);
    if (known == connected_.end()) return;
    peers_[known->second].doomed = true;
    peers_[known->second].doomed_at = at;
}

bool MemoryTransport::lose_doomed_peers() {
    bool worked = false;
    for (PeerId peer = 0; peer < peers_.size(); ++peer) {
        if (!peers_[peer].doomed || peers_[peer].gone) continue;
        lose(peer, make_error(ErrorKind::unavailable, "peer {} has vanished", peer));
        worked = true;
    }
    return worked;
}

void MemoryTransport::lose(PeerId peer, const base::Error& error) {
    end_peer(peer, error);
    // The completion is queued behind the operations that it ends, so that the handler runs after
    // all of them.
    completions_.push(
        [this, peer](base::Result<> result) {
            if (lost_handler_) lost_handler_(peer, result.error());
        },
        error);
}

void MemoryTransport::end_peer(PeerId peer, const base::Error& error) {
    Peer& ended = peers_[peer];
    if (ended.gone) return;
    ended.gone = true;
    connected_.erase(ended.endpoint);
    disconnected_[ended.endpoint] = ended.doomed_at;
    for (const auto& send : std::exchange(ended.sends, {})) {
        if (send->owner != this) continue;
        send->owner = nullptr;
        completions_.push(std::move(send->completion), error);
    }
    for (Receive& receive : receives_.take_peer(peer))
        completions_.push(std::move(receive.completion), error);
    std::erase_if(arrivals_, [&](Arrival& arrival) {
        if (arrival.receive.peer != peer) return false;
        completions_.push(std::move(arrival.receive.completion), error);
        end_send(arrival.send, {});
        return true;
    });
    for (MemoryMessage& message : messages_.take_peer(peer)) end_send(message.send, {});
}

bool MemoryTransport::finish_arrivals() {
    std::vector<Arrival> ready;
    std::erase_if(arrivals_, [&](Arrival& arrival) {
        if (!network_.passes(peers_[arrival.receive.peer].endpoint, id_, {})) return false;
        ready.push_back(std::move(arrival));
        return true;
    });
    for (Arrival& arrival : ready) {
        if (arrival.send->owner == nullptr) {
            completions_.push(std::move(arrival.receive.completion),
                              withdrawn(arrival.receive.tag, arrival.receive.peer));
            continue;
        }
        complete_receive(std::move(arrival.receive), arrival.send->bytes);
        end_send(arrival.send, {});
    }
    return !ready.empty();
}

bool MemoryTransport::deliver() {
    const uint64_t sequence_end = network_.next_sequence();
    if (network_.random_) return deliver_next(sequence_end);
    bool worked = false;
    while (deliver_next(sequence_end)) worked = true;
    return worked;
}

// Delivers the oldest message that was sent before `sequence_end`. With a seed, delivers the oldest
// message of a random sender. Messages of an instance that is not connected wait until connect()
// names it.
bool MemoryTransport::deliver_next(uint64_t sequence_end) {
    auto& inbox = network_.find(id_)->inbox;
    std::vector<EndpointId> senders;
    for (auto& [from, channel] : inbox) {
        if (const auto gone = disconnected_.find(from); gone != disconnected_.end()) {
            while (!channel.empty() && channel.front().sequence < gone->second) {
                end_send(channel.front().send, {});
                channel.pop_front();
            }
        }
        if (channel.empty() || channel.front().sequence >= sequence_end ||
            !network_.passes(from, id_, channel.front().arrives) || !connected_.contains(from))
            continue;
        senders.push_back(from);
    }
    if (senders.empty()) return false;
    const EndpointId from =
        network_.random_ ? senders[network_.random_->below(senders.size())]
                         : *std::min_element(senders.begin(), senders.end(), [&](auto a, auto b) {
                               return inbox[a].front().sequence < inbox[b].front().sequence;
                           });
    MemoryMessage message = std::move(inbox[from].front());
    inbox[from].pop_front();
    take_in(connected_.at(from), std::move(message));
    return true;
}

void MemoryTransport::take_in(PeerId peer, MemoryMessage message) {
    peers_[peer].heard = base::now();
    if (message.kind == MemoryMessage::Kind::pong) peers_[peer].answered = true;
    if (message.kind == MemoryMessage::Kind::ping) say(peer, MemoryMessage::Kind::pong);
    if (message.kind != MemoryMessage::Kind::message) return;
    if (message.send != nullptr && message.send->owner == nullptr)
        return;  // the send was withdrawn
    if (closed_.contains(message.tag.exchange)) {
        end_send(message.send, {});
        return;
    }
    const MatchKey key = match_key(peer, message.tag);
    if (auto receive = receives_.take(key)) {
        match(std::move(*receive), std::move(message));
    } else if (!messages_.put(key, std::move(message))) {
        // Two messages came for one slot, so their sender cannot be trusted.
        peers_[peer].doomed = true;
    }
}

void MemoryTransport::match(Receive receive, MemoryMessage message) {
    if (auto fits = check_fits(receive, message.tag, message.size); !fits) {
        completions_.push(std::move(receive.completion), std::move(fits));
        end_send(message.send, {});
    } else if (message.send != nullptr) {
        message.send->asked_for = true;
        arrivals_.push_back(Arrival{std::move(receive), std::move(message.send)});
    } else {
        complete_receive(std::move(receive), message.copy);
    }
}

void MemoryTransport::complete_receive(Receive receive, std::span<const std::byte> bytes) {
    std::copy(bytes.begin(), bytes.end(), receive.bytes.begin());
    ++counters_.messages_received;
    counters_.bytes_received += bytes.size();
    completions_.push(std::move(receive.completion), {});
}

// Ends the send of a large message at its sender, wherever the message is.
void MemoryTransport::end_send(const std::shared_ptr<MemorySend>& send, base::Result<> result) {
    if (send == nullptr || send->owner == nullptr) return;
    MemoryTransport* owner = std::exchange(send->owner, nullptr);
    std::erase(owner->peers_[send->peer].sends, send);
    owner->completions_.push(std::move(send->completion), std::move(result));
}

}  // namespace pace::transports
