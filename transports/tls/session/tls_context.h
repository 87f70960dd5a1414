// TlsContext: how this node speaks TLS. TLS 1.3 only, authenticated by a key that both sides have
// (an external PSK), with an exchange of fresh secrets (psk_dhe_ke). There are no certificates, no
// tickets, no kept sessions and no early data.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "transports/tls/session/key_ring.h"
#include "transports/tls/session/tls_connection.h"

namespace pace::transports::tls {

class TlsContext {
  public:
    // `keys` must outlive the context and its connections.
    static base::Result<std::unique_ptr<TlsContext>> create(const KeyRing& keys);

    base::Result<std::unique_ptr<TlsConnection>> connection(base::UniqueFd socket);

  private:
    struct FreeContext {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    };
    struct FreeMethod {
        void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
    };
    using ContextPointer = std::unique_ptr<SSL_CTX, FreeContext>;
    using MethodPointer = std::unique_ptr<BIO_METHOD, FreeMethod>;

    TlsContext(const KeyRing& keys, ContextPointer context, MethodPointer method);

    const KeyRing& keys_;
    ContextPointer context_;
    MethodPointer method_;
};

}  // namespace pace::transports::tls
