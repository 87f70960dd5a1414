#include "transports/tls/links/tls_links.h"

#include <algorithm>

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;

TlsLinks::TlsLinks(const TlsOptions& options, const InstanceId& instance,
                   std::vector<IpEndpoint> endpoints)
    : instance_(instance),
      segment_bytes_(options.segment_bytes),
      // The other half is for offers.
      eager_window_(options.unexpected_bytes_max / 2),
      address_(encode_address({instance, eager_window_, static_cast<uint32_t>(segment_bytes_),
                               std::move(endpoints)})) {}

base::Result<TlsAddress> TlsLinks::peer_address(
    std::span<const std::byte> address_untrusted) const {
    PACE_TRY_ASSIGN(parsed, parse_address(address_untrusted));
    if (parsed.instance == instance_)
        return make_error(ErrorKind::invalid, "the address is this transport's own");
    if (parsed.segment_bytes != segment_bytes_)
        return make_error(
            ErrorKind::mismatch,
            "the peer moves segments of {} bytes, this node of {}; set one segment_bytes on "
            "all nodes",
            parsed.segment_bytes, segment_bytes_);
    return std::move(parsed);
}

base::Result<PeerId> TlsLinks::connect(std::span<const std::byte> address) {
    PACE_TRY_ASSIGN(parsed, peer_address(address));
    TlsLink* known = find(parsed.instance);
    if (known != nullptr && known->peer) return *known->peer;
    if (by_id_.full())
        return make_error(ErrorKind::limit, "{} peers are connected already",
                          PeerSlots<TlsLink>::kSlotsMax);
    TlsLink& link = find_or_make(parsed.instance);
    // A connection that is being opened goes through the endpoints that it began with.
    if (link.out.state == WayOut::State::closed) link.out.endpoints = std::move(parsed.endpoints);
    link.eager_window = parsed.eager_window;
    link.was_peer = true;
    link.peer = by_id_.add(link);
    // Something may have come already.
    touch(link);
    return *link.peer;
}

TlsLink* TlsLinks::find(const InstanceId& instance) {
    const auto link = links_.find(instance);
    return link == links_.end() ? nullptr : link->second.get();
}

TlsLink& TlsLinks::find_or_make(const InstanceId& instance) {
    auto& link = links_[instance];
    if (link == nullptr) {
        link = std::make_unique<TlsLink>();
        link->instance = instance;
    }
    return *link;
}

TlsLink* TlsLinks::at(Readiness::Token token) const {
    const auto entry = by_token_.find(token);
    return entry == by_token_.end() ? nullptr : entry->second;
}

bool TlsLinks::is_newest(const Hello& hello) {
    uint64_t& newest = numbers_[hello.from];
    if (hello.number <= newest) return false;
    newest = hello.number;
    return true;
}

void TlsLinks::touch(TlsLink& link) {
    if (std::exchange(link.touched, true)) return;
    touched_.push_back(&link);
}

TlsLink* TlsLinks::next_touched() {
    if (touched_.empty()) return nullptr;
    TlsLink* link = touched_.front();
    touched_.pop_front();
    link->touched = false;
    return link;
}

void TlsLinks::fail(TlsLink& link, base::Error error) {
    if (link.error) return;
    link.error = std::move(error);
    failed_.push_back(link.instance);
}

void TlsLinks::leave(PeerId peer) {
    link(peer).peer.reset();
    by_id_.remove(peer);
}

void TlsLinks::erase(TlsLink& link) {
    if (link.touched) std::erase(touched_, &link);
    links_.erase(link.instance);
}

std::vector<TlsLink*> TlsLinks::all() {
    std::vector<TlsLink*> links;
    links.reserve(links_.size());
    for (const auto& [instance, link] : links_) links.push_back(link.get());
    return links;
}

}  // namespace pace::transports::tls
