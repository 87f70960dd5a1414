// TlsLinks: the links to other instances, and the peers that they lead to.
//
// A peer is what the user of the transport sees. A peer begins with connect() and ends with
// disconnect() or its loss. A link outlives a peer that was disconnected: late offers can then be
// refused, and a later connect() finds the connections open. A link without peer and without
// connection is forgotten.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "transports/peer_slots.h"
#include "transports/tls/links/tls_link.h"
#include "transports/tls/wire/tls_options.h"
#include "transports/transport.h"

namespace pace::transports::tls {

class TlsLinks {
  public:
    TlsLinks(const TlsOptions& options, const InstanceId& instance,
             std::vector<IpEndpoint> endpoints);
    TlsLinks(const TlsLinks&) = delete;
    TlsLinks& operator=(const TlsLinks&) = delete;

    const InstanceId& instance() const { return instance_; }
    // This instance's address for others.
    const Address& address() const { return address_; }
    // How far ahead others may be. The address tells others this number.
    uint64_t eager_window() const { return eager_window_; }

    // Reads an address and checks that it is a possible peer's.
    base::Result<TlsAddress> peer_address(std::span<const std::byte> address_untrusted) const;

    // Returns the peer behind `address`. Makes the peer if there is none. No bytes move.
    base::Result<PeerId> connect(std::span<const std::byte> address);

    // exists() tells whether connect() ever gave the id. gone() tells whether no peer has the id
    // now.
    bool exists(PeerId peer) const { return by_id_.was_given(peer); }
    bool gone(PeerId peer) const { return by_id_.find(peer) == nullptr; }
    std::vector<PeerId> present() const { return by_id_.present(); }

    // The link of a peer that is not gone.
    TlsLink& link(PeerId peer) { return *by_id_.find(peer); }
    const TlsLink& link(PeerId peer) const { return *by_id_.find(peer); }

    // Returns null if there is no link to the instance.
    TlsLink* find(const InstanceId& instance);
    TlsLink& find_or_make(const InstanceId& instance);

    // Tells whose connection a token names. Null: nobody's.
    void bind(Readiness::Token token, TlsLink& link) { by_token_.emplace(token, &link); }
    void unbind(Readiness::Token token) { by_token_.erase(token); }
    TlsLink* at(Readiness::Token token) const;

    // Returns false if the instance has opened a newer connection before.
    bool is_newest(const Hello& hello);
    // The instance has no key any more, so nobody can speak for it.
    void forget_numbers(const InstanceId& instance) { numbers_.erase(instance); }

    // The link gets its turn.
    void touch(TlsLink& link);
    bool has_touched() const { return !touched_.empty(); }
    // The link whose turn it is. Null if no link is in line.
    TlsLink* next_touched();
    size_t touched() const { return touched_.size(); }

    // Remembers that the link has failed, for take_failed(). The method takes no other action, so
    // it may be called from anywhere.
    void fail(TlsLink& link, base::Error error);
    bool has_failed() const { return !failed_.empty(); }
    std::vector<InstanceId> take_failed() { return std::exchange(failed_, {}); }

    // The peer is gone. Its link stays.
    void leave(PeerId peer);
    // Forgets the link, which has no peer any more.
    void erase(TlsLink& link);
    std::vector<TlsLink*> all();

  private:
    InstanceId instance_;
    size_t segment_bytes_;
    uint64_t eager_window_;
    Address address_;
    std::map<InstanceId, std::unique_ptr<TlsLink>> links_;
    PeerSlots<TlsLink> by_id_;
    std::unordered_map<Readiness::Token, TlsLink*> by_token_;
    // The largest Hello::number that each instance with a key has said.
    std::map<InstanceId, uint64_t> numbers_;
    std::deque<TlsLink*> touched_;
    std::vector<InstanceId> failed_;
};

}  // namespace pace::transports::tls
