// Credentials: what a server must know before it listens, from the files that its options name. Blocks: for the start alone.
#pragma once

#include <string>

#include "base/result.h"
#include "service/http/address.h"
#include "service/http/gate.h"
#include "service/http/options.h"

namespace pace::http {

struct TlsTexts {
    std::string certificate;  // empty: no TLS
    std::string key;
};

base::Result<TlsTexts> read_tls(const Options& options);

// Fails with denied if whoever reaches the address could read without a token or TLS.
base::Result<Gate::Rules> read_rules(const Options& options, const Address& address);

}  // namespace pace::http
