// UcxEngine: the UcxTransport itself. It connects worker, peers, outbox and inbox, and decides when
// a peer is lost.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transports/completion_queue.h"
#include "transports/ucx/ucx_inbox.h"
#include "transports/ucx/ucx_outbox.h"
#include "transports/ucx/ucx_peers.h"
#include "transports/ucx/ucx_sockets.h"
#include "transports/ucx/ucx_transport.h"
#include "transports/ucx/ucx_worker.h"

namespace pace::transports {

class UcxEngine final : public UcxTransport {
  public:
    UcxEngine(std::unique_ptr<UcxWorker> worker, const UcxOptions& options, uint64_t instance);
    ~UcxEngine() override;
    UcxEngine(const UcxEngine&) = delete;
    UcxEngine& operator=(const UcxEngine&) = delete;

    // Installs the handler of active messages. Call this method once, before anything arrives.
    base::Result<> listen();

    std::string_view name() const override { return "ucx"; }
    const Address& address() const override { return peers_.address(); }
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
    int event_fd() const override { return worker_->event_fd(); }
    Counters counters() const override {
        Counters now = counters_;
        now.messages_unexpected = inbox_.kept();
        return now;
    }

    bool poll() override;
    bool arm() override;

  private:
    struct Lost {
        PeerId peer;
        base::Error error;
    };

    static ucs_status_t on_active_message(void* engine, const void* header, size_t header_length,
                                          void* data, size_t length,
                                          const ucp_am_recv_param_t* param);
    bool usable(PeerId peer, Completion& completion);
    bool lose_failed_peers();
    bool bound_connections(bool worked);
    void tell_lost_peers();
    void end_peer(PeerId peer, const base::Error& error);

    std::unique_ptr<UcxWorker> worker_;
    Counters counters_;
    CompletionQueue completions_;
    bool ended_ = false;
    PeerLostHandler lost_handler_;
    // Lost peers whose loss is not told yet, because UCX has not given back all their memory.
    std::vector<Lost> untold_;
    std::optional<UcxSockets> sockets_;  // only if TCP is the transport
    // The sockets may have changed: something happened since they were last looked at.
    bool sockets_changed_ = false;
    base::TimePoint sockets_due_{};
    UcxPeers peers_;
    UcxOutbox outbox_;
    UcxInbox inbox_;
};

}  // namespace pace::transports
