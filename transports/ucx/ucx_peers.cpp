#include "transports/ucx/ucx_peers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transports/digest.h"
#include "transports/ucx/wire.h"

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

namespace {

Address make_address(uint64_t instance, uint64_t eager_window, size_t segment_bytes,
                     std::span<const std::byte> worker) {
    wire::AddressHeader header;
    header.instance = instance;
    header.eager_window = eager_window;
    header.digest = digest_of(worker);
    header.segment_bytes = static_cast<uint32_t>(segment_bytes);
    header.worker_bytes = static_cast<uint32_t>(worker.size());
    Address address(sizeof(header) + worker.size());
    std::memcpy(address.data(), &header, sizeof(header));
    std::memcpy(address.data() + sizeof(header), worker.data(), worker.size());
    return address;
}

base::Result<wire::AddressHeader> parse_address(std::span<const std::byte> address) {
    wire::AddressHeader header;
    if (address.size() < sizeof(header) || address.size() > kAddressBytesMax)
        return make_error(ErrorKind::corrupt, "{} bytes cannot be a UCX transport's address",
                          address.size());
    std::memcpy(&header, address.data(), sizeof(header));
    if (header.magic != wire::kAddressMagic)
        return make_error(
            ErrorKind::version,
            "the address begins with {:016x}, this build understands {:016x}; run the same "
            "version of Pace on all nodes",
            header.magic, wire::kAddressMagic);
    const auto worker = address.subspan(sizeof(header));
    if (worker.empty() || header.worker_bytes != worker.size() ||
        header.digest != digest_of(worker))
        return make_error(ErrorKind::corrupt,
                          "the address is damaged: {} bytes with digest {:016x}", worker.size(),
                          header.digest);
    return header;
}

}  // namespace

UcxPeers::UcxPeers(UcxWorker& worker, const UcxOptions& options, uint64_t instance)
    : worker_(worker),
      instance_(instance),
      segment_bytes_(options.segment_bytes),
      // The other half is for offers.
      eager_window_(options.unexpected_bytes_max / 2),
      address_(make_address(instance, eager_window_, segment_bytes_, worker.address())) {}

base::Result<UcxPeers::Connected> UcxPeers::connect(std::span<const std::byte> address) {
    PACE_TRY_ASSIGN(header, parse_address(address));
    if (header.instance == instance_)
        return make_error(ErrorKind::invalid, "the address is this transport's own");
    if (header.segment_bytes != segment_bytes_)
        return make_error(
            ErrorKind::mismatch,
            "the peer moves segments of {} bytes, this node of {}; set one segment_bytes on "
            "all nodes",
            header.segment_bytes, segment_bytes_);
    Link* link = find(header.instance);
    if (link != nullptr && link->peer) return Connected{*link->peer, false};
    if (by_id_.full())
        return make_error(ErrorKind::limit, "{} peers are connected already",
                          PeerSlots<Link>::kSlotsMax);
    if (link == nullptr) {
        forget_unused();
        const auto worker = address.subspan(sizeof(header));
        auto made = std::make_unique<Link>();
        made->owner = this;
        made->instance = header.instance;
        made->eager_window = header.eager_window;
        made->worker_address.assign(worker.begin(), worker.end());
        link = made.get();
        links_.emplace(header.instance, std::move(made));
        departed_.remove(header.instance);
    }
    link->peer = by_id_.add(*link);
    return Connected{*link->peer, true};
}

UcxPeers::Link* UcxPeers::find(uint64_t instance) {
    const auto link = links_.find(instance);
    return link == links_.end() ? nullptr : link->second.get();
}

base::Result<ucp_ep_h> UcxPeers::endpoint(Link& link) {
    if (link.endpoint != nullptr) return link.endpoint;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(link.worker_address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = on_endpoint_error;
    params.err_handler.arg = &link;
    const ucs_status_t status = ucp_ep_create(worker_.handle(), &params, &link.endpoint);
    if (status != UCS_OK) {
        link.endpoint = nullptr;
        return make_ucx_error(ErrorKind::unavailable,
                              "the peer cannot be reached from this node's interfaces", status);
    }
    opened_ = true;
    return link.endpoint;
}

void UcxPeers::fail(Link& link, base::Error error) {
    if (link.error) return;
    link.error = std::move(error);
    failed_.push_back(link.instance);
}

void UcxPeers::fail(PeerId peer, base::Error error) {
    if (!gone(peer)) fail(link(peer), std::move(error));
}

void UcxPeers::leave(PeerId peer) {
    Link& left = link(peer);
    left.peer.reset();
    by_id_.remove(peer);
    if (left.endpoint != nullptr) return;
    if (std::find(unused_.begin(), unused_.end(), left.instance) == unused_.end())
        unused_.push_back(left.instance);
}

void UcxPeers::forget_unused() {
    while (unused_.size() > kUnusedMax) {
        Link* link = find(unused_.front());
        unused_.pop_front();
        if (link != nullptr && !link->peer && link->endpoint == nullptr) close(*link);
    }
}

void UcxPeers::close(Link& link) {
    ucp_ep_h endpoint = std::exchange(link.endpoint, nullptr);
    const uint64_t instance = link.instance;
    if (endpoint != nullptr) {
        ucp_request_param_t params{};
        params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        params.flags = UCP_EP_CLOSE_FLAG_FORCE;
        const ucs_status_ptr_t request = ucp_ep_close_nbx(endpoint, &params);
        if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
    links_.erase(instance);
    departed_.add(instance);
}

void UcxPeers::close_all() {
    while (!links_.empty()) close(*links_.begin()->second);
}

void UcxPeers::on_endpoint_error(void* argument, ucp_ep_h /*endpoint*/, ucs_status_t status) {
    auto* link = static_cast<Link*>(argument);
    link->owner->fail(*link, make_ucx_error(ErrorKind::unavailable, "the peer is lost", status));
}

}  // namespace pace::transports
