// Credentials: the secrets that a server needs before it listens. They are read from the files that
// the options name. Reading blocks, so it is only for the start.
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

// Fails with denied if clients that reach the address could read without a token and without TLS.
base::Result<Gate::Rules> read_rules(const Options& options, const Address& address);

}  // namespace pace::http
