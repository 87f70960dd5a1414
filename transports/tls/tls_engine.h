// TlsEngine: the TlsTransport itself. It connects door, dialer, links, outbox and inbox, gives each
// link its turn, and decides when a peer is lost.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transports/completion_queue.h"
#include "transports/tls/links/tls_inbox.h"
#include "transports/tls/links/tls_links.h"
#include "transports/tls/links/tls_outbox.h"
#include "transports/tls/links/tls_reader.h"
#include "transports/tls/session/key_ring.h"
#include "transports/tls/session/tls_context.h"
#include "transports/tls/stranger_reports.h"
#include "transports/tls/tls_dialer.h"
#include "transports/tls/tls_door.h"
#include "transports/tls/tls_transport.h"
#include "transports/tls/wire/readiness.h"

namespace pace::transports::tls {

class TlsEngine final : public TlsTransport {
  public:
    // Call open() next.
    TlsEngine(std::unique_ptr<Readiness> readiness, std::unique_ptr<KeyRing> keys,
              std::unique_ptr<TlsContext> context, const TlsOptions& options,
              const InstanceId& instance, std::vector<IpEndpoint> endpoints);
    ~TlsEngine() override;
    TlsEngine(const TlsEngine&) = delete;
    TlsEngine& operator=(const TlsEngine&) = delete;

    base::Result<> open(std::vector<ListeningSocket> listening) {
        return door_->open(std::move(listening));
    }

    std::string_view name() const override { return "tls"; }
    const Address& address() const override { return links_.address(); }
    base::Result<PeerId> connect(std::span<const std::byte> address) override;
    void disconnect(PeerId peer) override;
    void give_up(PeerId peer, const base::Error& error) override;
    void send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
              Completion completion) override;
    void receive(PeerId peer, Tag tag, std::span<std::byte> bytes, Completion completion) override;
    void close_exchange(uint64_t exchange) override;
    void end() override;
    void ping(PeerId peer) override;
    base::TimePoint heard(PeerId peer) const override;
    void set_peer_lost_handler(PeerLostHandler handler) override;
    int event_fd() const override { return readiness_->fd(); }
    Counters counters() const override;
    base::Result<> add_key(std::span<const std::byte> address, const PairKey& key) override;
    base::Result<> forget_keys(std::span<const std::byte> address) override;
    void set_stranger_handler(StrangerHandler handler) override;

    bool poll() override;
    bool arm() override;

  private:
    bool usable(PeerId peer, Completion& completion);
    bool take_events();
    void admit(std::vector<TlsDoor::Admitted> admitted);
    void admit(TlsDoor::Admitted admitted);
    bool serve_links();
    bool serve(TlsLink& link);
    void watch_way_out(TlsLink& link);
    static bool may_go_on(const TlsLink& link);
    bool lose_failed();
    void end_peer(PeerId peer, const base::Error& error, bool goes_on);
    void close(TlsLink& link);
    void forget_if_unused(TlsLink& link);
    void tell_strangers();

    std::unique_ptr<Readiness> readiness_;
    std::unique_ptr<KeyRing> keys_;
    std::unique_ptr<TlsContext> context_;
    Counters counters_;
    CompletionQueue completions_;
    bool ended_ = false;
    PeerLostHandler lost_handler_;
    StrangerHandler stranger_handler_;
    StrangerReports reports_;
    TlsLinks links_;
    TlsOutbox outbox_;
    TlsInbox inbox_;
    TlsReader reader_;
    TlsDialer dialer_;
    std::unique_ptr<TlsDoor> door_;
};

}  // namespace pace::transports::tls
