// RawClient: a client that speaks to a node's port by itself: any bytes, or TLS of its own.
//
// Nothing blocks. Between its steps the caller polls the nodes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/ssl.h>

#include "base/unique_fd.h"
#include "transports/pair_key.h"
#include "transports/tls/wire/frames.h"
#include "transports/tls/wire/tls_address.h"
#include "transports/transport.h"

namespace pace::transports::tls::testing {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

// A TCP connection to the first endpoint of an address.
class RawSocket {
  public:
    explicit RawSocket(const Address& address);

    // Sends all bytes. The kernel must have room for them. Returns false if it has none.
    bool send(std::span<const std::byte> bytes) const;
    // Returns what has come.
    Bytes receive();
    // Whether the other side has closed or reset the connection. Drops what has come.
    bool is_closed();
    void close() { fd_.reset(); }

  private:
    base::UniqueFd fd_;
    bool closed_ = false;
};

struct RawTlsOptions {
    const PairKey* key = nullptr;  // none: no PSK is offered
    int version_max = TLS1_3_VERSION;
};

// TLS whose bytes the caller carries.
class RawTls {
  public:
    explicit RawTls(const RawTlsOptions& options);
    RawTls(const RawTls&) = delete;
    RawTls& operator=(const RawTls&) = delete;

    // Takes the handshake further. Returns true once it is done.
    bool handshake() { return SSL_do_handshake(ssl_.get()) == 1; }
    // Whether both sides have made a secret for this connection alone.
    bool has_fresh_secrets() const;
    void write(std::span<const std::byte> bytes);
    void update_key() { SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED); }
    // Returns true if the other side has closed or failed the connection.
    bool read_to_end();

    // The bytes for the other side, and those from it.
    Bytes take_outgoing();
    void add_incoming(std::span<const std::byte> bytes);

    SSL* ssl() { return ssl_.get(); }
    const PairKey* key() const { return key_; }

  private:
    struct Free {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
        void operator()(SSL* ssl) const { SSL_free(ssl); }
    };
    const PairKey* key_;
    std::unique_ptr<SSL_CTX, Free> context_;
    std::unique_ptr<SSL, Free> ssl_;
};

// Both together.
class RawClient {
  public:
    RawClient(const Address& address, const RawTlsOptions& options)
        : socket_(address), tls_(options) {}

    // Carries bytes in both directions, and takes the handshake further. Returns true once the
    // handshake is done. The other side may still refuse.
    bool step();
    // Sends frames of a peer.
    void write(std::span<const std::byte> bytes) { tls_.write(bytes); }
    void write(const Frame& frame, std::span<const std::byte> payload = {});
    bool is_closed();

    RawTls& tls() { return tls_; }
    // All bytes that were sent.
    const Bytes& sent() const { return sent_; }

  private:
    void carry();

    RawSocket socket_;
    RawTls tls_;
    Bytes sent_;
    bool done_ = false;
};

}  // namespace pace::transports::tls::testing
