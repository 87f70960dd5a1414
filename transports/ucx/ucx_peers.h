// UcxPeers: the instances that were connected, and the UCX endpoint that leads to each instance.
//
// A peer is what the user of the transport sees. A peer begins with connect() and ends with
// disconnect() or its loss. A link is what UCX sees: an endpoint to an instance. If the user
// disconnects, the link outlives the peer. Late offers can then be refused, and a later connect()
// finds the link open. The link ends with the instance. UCX reports the end of the instance if
// there is an endpoint. Links that have neither a peer nor an endpoint are kept up to a number: the
// last kUnusedMax.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "transports/peer_slots.h"
#include "transports/recent_ids.h"
#include "transports/transport.h"
#include "transports/ucx/ucx_worker.h"

namespace pace::transports {

class UcxPeers {
  public:
    // A guess: the number is larger than the number of nodes that restart at one time.
    static constexpr size_t kUnusedMax = 64;

    struct Link {
        UcxPeers* owner = nullptr;
        uint64_t instance = 0;
        std::vector<std::byte> worker_address;
        ucp_ep_h endpoint = nullptr;
        std::optional<PeerId> peer;        // none after disconnect()
        std::optional<base::Error> error;  // set once: the link is to be closed

        // Eager bytes since the link began. Each message also counts kEagerCharge. This instance is
        // ahead of the other by eager_sent - eager_returned. The difference must not exceed the
        // other's window.
        uint64_t eager_window = 0;
        uint64_t eager_sent = 0;
        uint64_t eager_returned = 0;
        // The number of the other's eager bytes that this instance has taken.
        uint64_t eager_taken = 0;
        // The value of eager_taken that the other instance was told last.
        uint64_t eager_reported = 0;

        // The bytes of the peer's messages that nobody has asked for yet.
        size_t unexpected_bytes = 0;

        base::TimePoint heard{};  // when the last message came
        bool answered = false;    // a message has come that answers one of this instance
    };

    UcxPeers(UcxWorker& worker, const UcxOptions& options, uint64_t instance);
    UcxPeers(const UcxPeers&) = delete;
    UcxPeers& operator=(const UcxPeers&) = delete;

    // This instance's address for others.
    const Address& address() const { return address_; }

    // How far ahead others may be. The address tells others this number.
    uint64_t eager_window() const { return eager_window_; }

    struct Connected {
        PeerId peer = 0;
        bool is_new = false;
    };

    // Returns the peer behind `address`. Makes the peer if there is none. No bytes move.
    base::Result<Connected> connect(std::span<const std::byte> address);

    // exists() tells whether connect() ever gave the id. gone() tells whether no peer has the id
    // now.
    bool exists(PeerId peer) const { return by_id_.was_given(peer); }
    bool gone(PeerId peer) const { return by_id_.find(peer) == nullptr; }
    std::vector<PeerId> present() const { return by_id_.present(); }

    // The link of a peer that is not gone.
    Link& link(PeerId peer) { return *by_id_.find(peer); }
    const Link& link(PeerId peer) const { return *by_id_.find(peer); }

    // Returns the link to an instance, if there is one. The link may have no peer.
    Link* find(uint64_t instance);

    // Whether an instance was a peer not long ago and its link is closed.
    bool departed(uint64_t instance) const { return departed_.contains(instance); }

    // Returns the link's endpoint. Makes the endpoint if there is none.
    base::Result<ucp_ep_h> endpoint(Link& link);

    // Whether an endpoint was made since the last call.
    bool take_opened() { return std::exchange(opened_, false); }
    bool has_opened() const { return opened_; }

    // Remembers that the link has failed, for take_failed(). The method takes no other action, so
    // it may be called from anywhere.
    void fail(Link& link, base::Error error);
    void fail(PeerId peer, base::Error error);
    bool has_failed() const { return !failed_.empty(); }
    std::vector<uint64_t> take_failed() { return std::exchange(failed_, {}); }

    // The peer is gone. Its link stays.
    void leave(PeerId peer);

    // Closes the endpoint by force and forgets the link. No peer may use the link any more.
    void close(Link& link);
    void close_all();

    // The numbers of slots and links that are kept, for tests.
    size_t slots() const { return by_id_.slots(); }
    size_t links() const { return links_.size(); }

  private:
    void forget_unused();
    static void on_endpoint_error(void* link, ucp_ep_h endpoint, ucs_status_t status);

    UcxWorker& worker_;
    uint64_t instance_;
    size_t segment_bytes_;
    uint64_t eager_window_;
    Address address_;
    // UCX holds pointers to the links.
    std::unordered_map<uint64_t, std::unique_ptr<Link>> links_;
    PeerSlots<Link> by_id_;
    // Instances whose link had no endpoint when their peer left. The oldest instance is first.
    std::deque<uint64_t> unused_;
    RecentIds departed_;
    std::vector<uint64_t> failed_;
    bool opened_ = false;
};

}  // namespace pace::transports
