#include "daemon/sparse/exchange/flat_transport.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/random.h"

namespace pace::sparse {

using base::ErrorKind;
using base::make_error;
using base::Result;
using transports::Address;
using transports::Completion;
using transports::PeerId;
using transports::Receive;
using transports::Tag;

namespace {

constexpr std::string_view kFlatPrefix = "flat:";

Address flat_address(PeerId number) {
    Address address(kFlatPrefix.size() + sizeof(number));
    std::memcpy(address.data(), kFlatPrefix.data(), kFlatPrefix.size());
    std::memcpy(address.data() + kFlatPrefix.size(), &number, sizeof(number));
    return address;
}

// The number is as hard to guess from outside as `exchange` is. Each pair has another number.
uint64_t exchange_between(uint64_t exchange, PeerId from, PeerId to) {
    const uint64_t pair = base::Random(uint64_t{from} << 32U | to).next();
    return base::Random(exchange ^ pair).next();
}

Tag tag_between(Tag tag, PeerId from, PeerId to) {
    tag.exchange = exchange_between(tag.exchange, from, to);
    return tag;
}

}  // namespace

FlatTransport::FlatTransport(FlatNode& node, PeerId self)
    : node_(node), self_(self), address_(flat_address(self)) {}

Result<PeerId> FlatTransport::connect(std::span<const std::byte> address) {
    if (ended_) return make_error(ErrorKind::closed, "the transport has ended");
    for (PeerId peer = 0; peer < node_.size(); ++peer) {
        const Address known = flat_address(peer);
        if (!std::equal(known.begin(), known.end(), address.begin(), address.end())) continue;
        if (peer == self_)
            return make_error(ErrorKind::invalid, "the address is participant {}'s own", peer);
        return peer;
    }
    return make_error(ErrorKind::invalid,
                      "{} bytes that are no address of the {} participants; those of an exchange "
                      "are known from the start",
                      address.size(), node_.size());
}

bool FlatTransport::usable(PeerId peer, Completion& completion) {
    if (peer >= node_.size() || peer == self_) {
        completions_.push(std::move(completion), transports::unknown_peer(peer));
        return false;
    }
    if (ended_) {
        completions_.push(std::move(completion), transports::has_ended());
        return false;
    }
    if (!gone_.contains(peer)) return true;
    completions_.push(std::move(completion),
                      make_error(ErrorKind::unavailable, "participant {} was disconnected", peer));
    return false;
}

void FlatTransport::disconnect(PeerId peer) {
    if (peer >= node_.size() || peer == self_) return;
    if (!node_.is_local(peer)) return node_.disconnect(peer, self_);
    if (!gone_.insert(peer).second) return;
    end_within(peer, make_error(ErrorKind::unavailable, "participant {} was disconnected", peer));
}

// Giving up a participant of this node loses only the exchange between the two, no other peer.
void FlatTransport::give_up(PeerId peer, const base::Error& error) {
    if (peer >= node_.size() || peer == self_ || ended_) return;
    if (!node_.is_local(peer)) return node_.give_up(peer, error);
    if (!gone_.insert(peer).second) return;
    end_within(peer, error);
    completions_.push(
        [this, peer](Result<> result) {
            if (lost_handler_) lost_handler_(peer, result.error());
        },
        error);
}

void FlatTransport::send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
                         Completion completion) {
    if (!usable(peer, completion)) return;
    ++counters_.messages_sent;
    counters_.bytes_sent += bytes.size();
    if (node_.is_local(peer))
        send_within(node_.participant(peer), tag, bytes, std::move(completion));
    else
        node_.send(self_, peer, tag, bytes, std::move(completion));
}

void FlatTransport::receive(PeerId peer, Tag tag, std::span<std::byte> bytes,
                            Completion completion) {
    if (!usable(peer, completion)) return;
    if (node_.is_local(peer)) {
        receive_within(peer, {peer, tag, bytes, std::move(completion)});
        return;
    }
    const size_t size = bytes.size();
    const auto count = scope_.bind([this, size] {
        ++counters_.messages_received;
        counters_.bytes_received += size;
    });
    node_.receive(peer, self_, tag, bytes,
                  [count, completion = std::move(completion)](Result<> result) {
                      if (result) count();
                      if (completion) completion(std::move(result));
                  });
}

void FlatTransport::send_within(FlatTransport& to, Tag tag, std::span<const std::byte> bytes,
                                Completion completion) {
    if (to.closed_.contains(tag.exchange) || to.gone_.contains(self_)) {
        completions_.push(std::move(completion), {});
        return;
    }
    const transports::MatchKey key = transports::match_key(self_, tag);
    Message message{this, tag, {}, bytes, std::move(completion)};
    if (auto posted = to.receives_.take(key))
        return to.match(std::move(*posted), std::move(message));
    if (to.messages_.contains(key)) {
        message.end(make_error(ErrorKind::invalid,
                               "a message for slot {} of exchange {:016x} waits for participant {} "
                               "already; give each message of an exchange a slot of its own",
                               tag.slot, tag.exchange, to.self_));
        return;
    }
    if (bytes.size() <= kCopiedBytesMax) {
        message.copy.assign(bytes.begin(), bytes.end());
        message.bytes = {};
        message.end({});
    }
    to.messages_.put(key, std::move(message));
}

void FlatTransport::receive_within(PeerId from, Receive posted) {
    if (closed_.contains(posted.tag.exchange)) {
        completions_.push(std::move(posted.completion), transports::canceled_by_close(posted.tag));
        return;
    }
    const transports::MatchKey key = transports::match_key(from, posted.tag);
    if (receives_.contains(key)) {
        completions_.push(std::move(posted.completion),
                          transports::already_posted(posted.tag, from));
        return;
    }
    if (auto message = messages_.take(key))
        match(std::move(posted), std::move(*message));
    else
        receives_.put(key, std::move(posted));
}

void FlatTransport::match(Receive receive, Message message) {
    const std::span<const std::byte> contents = message.contents();
    Result<> fits = transports::check_fits(receive, message.tag, contents.size());
    if (!fits) {
        completions_.push(std::move(receive.completion), std::move(fits));
        message.end({});
        return;
    }
    ++counters_.messages_received;
    counters_.bytes_received += contents.size();
    // Both ends wait for the copy, even if the exchange is closed meanwhile. The copy reads the
    // sender's memory and writes the receiver's memory.
    struct Copy {
        std::byte* to;
        Message message;
        Completion received;
        bool at_once = true;
    };
    const auto copy = std::make_shared<Copy>(
        Copy{receive.bytes.data(), std::move(message), std::move(receive.completion)});
    node_.aside_.run(
        2 * contents.size(), contents.size(), kernels::Aside::kGrainBytes,
        [copy](size_t begin, size_t end) {
            const std::span<const std::byte> from = copy->message.contents();
            std::copy(from.begin() + static_cast<std::ptrdiff_t>(begin),
                      from.begin() + static_cast<std::ptrdiff_t>(end), copy->to + begin);
        },
        scope_.bind([this, copy] {
            completions_.push(std::exchange(copy->received, nullptr), {});
            copy->message.end({});
            // Nothing else may wake the loop for these completions.
            if (!copy->at_once) node_.poll();
        }));
    copy->at_once = false;
}

void FlatTransport::end_within(PeerId peer, const base::Error& error) {
    for (Receive& receive : receives_.take_peer(peer))
        completions_.push(std::move(receive.completion), error);
    for (Message& message : messages_.take_peer(peer)) message.end({});
    for (Message& message : node_.participant(peer).messages_.take_peer(self_)) message.end(error);
}

void FlatTransport::close_exchange(uint64_t exchange) {
    closed_.add(exchange);
    for (Receive& receive : receives_.take_exchange(exchange))
        completions_.push(std::move(receive.completion),
                          transports::canceled_by_close(receive.tag));
    for (Message& message : messages_.take_exchange(exchange)) message.end({});
    // Ends what this participant has sent within the node and no receive has matched.
    for (auto& [number, other] : node_.locals_) {
        for (Message& message : other->messages_.take_exchange(exchange)) {
            const transports::MatchKey key = match_key(message.sender->self_, message.tag);
            if (message.sender == this && message.completion) {
                message.end(transports::canceled_by_close(message.tag));
            } else {
                other->messages_.put(key, std::move(message));
            }
        }
    }
    node_.close_exchange(exchange, self_);
}

void FlatTransport::ping(PeerId peer) {
    if (peer < node_.size() && !node_.is_local(peer)) node_.real_.ping(*node_.hosts_[peer]);
}

base::TimePoint FlatTransport::heard(PeerId peer) const {
    if (peer >= node_.size()) return {};
    return node_.is_local(peer) ? base::now() : node_.real_.heard(*node_.hosts_[peer]);
}

void FlatTransport::end() {
    if (std::exchange(ended_, true)) return;
    for (const auto& [peer, local] : node_.locals_) end_within(peer, transports::has_ended());
    while (completions_.run()) {
    }
}

void FlatTransport::set_peer_lost_handler(transports::PeerLostHandler handler) {
    lost_handler_ = std::move(handler);
}

FlatNode::FlatNode(transports::Transport& real, std::vector<std::optional<PeerId>> hosts,
                   kernels::Aside aside)
    : real_(real), hosts_(std::move(hosts)), aside_(std::move(aside)) {
    for (PeerId number = 0; number < hosts_.size(); ++number) {
        if (hosts_[number])
            nodes_.try_emplace(*hosts_[number]);
        else
            locals_.emplace(number, std::make_unique<FlatTransport>(*this, number));
    }
}

FlatNode::~FlatNode() {
    for (auto& [number, local] : locals_) local->end();
    for (bool worked = true; worked;) {
        worked = false;
        for (auto& [number, local] : locals_) worked = local->poll() || worked;
    }
}

void FlatNode::send(PeerId from, PeerId to, Tag tag, std::span<const std::byte> bytes,
                    Completion completion) {
    const PeerId host = *hosts_[to];
    real_.send(host, tag_between(tag, from, to), bytes, counted(host, std::move(completion)));
}

void FlatNode::receive(PeerId from, PeerId to, Tag tag, std::span<std::byte> bytes,
                       Completion completion) {
    const PeerId host = *hosts_[from];
    real_.receive(host, tag_between(tag, from, to), bytes, counted(host, std::move(completion)));
}

Completion FlatNode::counted(PeerId host, Completion completion) {
    Host* node = &nodes_.at(host);
    ++node->pending;
    return [ended = scope_.bind([node] { --node->pending; }),
            completion = std::move(completion)](Result<> result) {
        ended();
        if (completion) completion(std::move(result));
    };
}

void FlatNode::close_exchange(uint64_t exchange, PeerId participant) {
    for (PeerId other = 0; other < hosts_.size(); ++other) {
        if (!hosts_[other]) continue;
        real_.close_exchange(exchange_between(exchange, other, participant));
        real_.close_exchange(exchange_between(exchange, participant, other));
    }
}

void FlatNode::disconnect(PeerId participant, PeerId by) {
    const PeerId peer = *hosts_[participant];
    Host& host = nodes_.at(peer);
    if (host.lost) return;
    host.by = by;
    host.lost = make_error(ErrorKind::unavailable, "participant {} disconnected the node of {}", by,
                           participant);
    real_.disconnect(peer);
}

// The real transport's lost handler tells the other participants.
void FlatNode::give_up(PeerId participant, const base::Error& error) {
    real_.give_up(*hosts_[participant], error);
}

void FlatNode::peer_lost(PeerId peer, const base::Error& error) {
    const auto host = nodes_.find(peer);
    if (host != nodes_.end() && !host->second.lost) host->second.lost = error;
}

void FlatNode::tell_lost(PeerId peer, const Host& host) {
    for (auto& [number, local] : locals_) {
        if (host.by == number) continue;
        for (PeerId other = 0; other < hosts_.size(); ++other)
            if (hosts_[other] == peer && local->lost_handler_)
                local->lost_handler_(other, *host.lost);
    }
}

bool FlatNode::poll() {
    bool worked = false;
    for (auto& [number, local] : locals_) worked = local->poll() || worked;
    // The contract requires that the operations that a loss has ended end before the loss is told.
    for (auto& [peer, host] : nodes_) {
        if (!has_news(host)) continue;
        host.told = true;
        tell_lost(peer, host);
        worked = true;
    }
    return worked;
}

bool FlatNode::arm() {
    return std::all_of(locals_.begin(), locals_.end(),
                       [](const auto& local) { return local.second->arm(); }) &&
           std::none_of(nodes_.begin(), nodes_.end(),
                        [this](const auto& node) { return has_news(node.second); });
}

}  // namespace pace::sparse
