// A key that two processes of a test or a measurement know without being told. It protects nothing:
// everybody who sees both addresses knows it.
#pragma once

#include "transports/tls/tls_transport.h"
#include "transports/tls/wire/tls_address.h"

namespace pace::transports::tls::testing {

// `transport` must be a TlsTransport.
inline base::Result<> add_open_key(Transport& transport, const Address& other) {
    PACE_TRY_ASSIGN(here, parse_address(transport.address()));
    PACE_TRY_ASSIGN(there, parse_address(other));
    PairKey key;
    for (size_t i = 0; i < key.id.size(); ++i)
        key.id[i] = key.secret[i] = here.instance[i] ^ there.instance[i];
    return static_cast<TlsTransport&>(transport).add_key(other, key);
}

}  // namespace pace::transports::tls::testing
