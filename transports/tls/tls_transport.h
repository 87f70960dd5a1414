// TlsTransport: the transport between machines whose network others may reach. TCP with TLS 1.3.
//
// Two instances talk only if they have a key in common (PairKey). The key authenticates both sides,
// and each connection agrees on fresh secrets (psk_dhe_ke), so a key that becomes known later opens
// no recorded connection. There are no certificates. Whoever reaches the port without a key is a
// stranger: strangers are bounded in number, in bytes and in time.
//
// The transport has no thread of its own. Nothing blocks. No signal is raised: bytes are sent with
// MSG_NOSIGNAL.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "transports/pair_key.h"
#include "transports/tls/wire/tls_options.h"
#include "transports/transport.h"

namespace pace::transports {

class TlsTransport : public Transport {
  public:
    // Opens the listening sockets. Fails with ErrorKind::invalid for options that make no sense.
    // Fails with ErrorKind::unavailable or denied if an address cannot be listened on.
    static base::Result<std::unique_ptr<TlsTransport>> create(const TlsOptions& options);

    // A connection that was refused, because it did not prove who it is.
    struct Stranger {
        std::string source;  // its IP address and port
        std::string reason;
        // How many were refused since the last report and are not reported.
        uint64_t unreported = 0;
    };
    using StrangerHandler = std::function<void(const Stranger&)>;

    // The handler is called from progress(), once for each stranger, but seldom enough for a log: a
    // few times in a row, then once a second.
    virtual void set_stranger_handler(StrangerHandler handler) = 0;
};

}  // namespace pace::transports
