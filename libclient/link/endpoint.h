// Endpoint: where the daemon is. The daemon is behind a Unix socket or is a library inside this
// process.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::client {

inline constexpr std::string_view kDefaultSocket = "/run/pace/paced.sock";

enum class EndpointKind { unix_socket, embedded };

struct Endpoint {
    EndpointKind kind = EndpointKind::unix_socket;
    // The path of the socket, or of the embedded daemon's configuration file. Empty means that
    // there is no configuration file.
    std::string path;

    // Returns the endpoint as the user would write it.
    std::string text() const;
};

// Parses "unix:PATH", "embedded:" or "embedded:FILE".
base::Result<Endpoint> parse_endpoint(std::string_view text);

// Returns the endpoint that `text` names. If `text` is null, PACE_ENDPOINT names the endpoint. If
// PACE_ENDPOINT is not set either, the endpoint is this node's daemon.
base::Result<Endpoint> resolve_endpoint(const char* text);

}  // namespace pace::client
