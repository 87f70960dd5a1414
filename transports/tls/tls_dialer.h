// TlsDialer: opens the way out of links.
//
// A link's way out is opened when something is to be sent, or when a receive must notice that its
// peer has gone. A peer that nobody answers for is lost. A peer may refuse the handshake: it may
// not have the new key yet, or a flood of strangers may take its places. The dialer then tries
// again for some time, with the peer's last two keys in turn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "transports/tls/links/tls_links.h"
#include "transports/tls/session/key_ring.h"
#include "transports/tls/session/tls_context.h"
#include "transports/tls/wire/readiness.h"
#include "transports/tls/wire/sockets.h"
#include "transports/tls/wire/tls_options.h"

namespace pace::transports::tls {

class TlsDialer {
  public:
    TlsDialer(Readiness& readiness, TlsContext& context, const KeyRing& keys, TlsLinks& links,
              const TlsOptions& options);
    TlsDialer(const TlsDialer&) = delete;
    TlsDialer& operator=(const TlsDialer&) = delete;

    // Opens the way out, or takes the opening further. The link fails if that is not possible.
    void go_on(TlsLink& link);

    // The instance has got a key.
    void on_key(TlsLink& link);

    // Handles what is due. `now` is the time.
    void expire(base::TimePoint now);
    std::optional<base::TimePoint> deadline() const;

    // The link is closed.
    void forget(TlsLink& link);

  private:
    void try_key(TlsLink& link);
    void try_endpoint(TlsLink& link, const PairKey& key);
    void on_connected(TlsLink& link);
    void next_endpoint(TlsLink& link, const std::string& why);
    void handshake(TlsLink& link);
    void on_refused(TlsLink& link, const std::string& why);
    void on_due(TlsLink& link, base::TimePoint now);
    void wait(TlsLink& link, base::TimePoint until);
    void drop_connection(TlsLink& link);
    void fail(TlsLink& link, const std::string& why);

    Readiness& readiness_;
    TlsContext& context_;
    const KeyRing& keys_;
    TlsLinks& links_;
    base::Duration unmoved_max_;
    base::Duration key_wait_max_;
    SocketBounds bounds_;
    // The links whose way out is being opened.
    std::vector<TlsLink*> opening_;
    uint64_t next_number_ = 1;
};

}  // namespace pace::transports::tls
