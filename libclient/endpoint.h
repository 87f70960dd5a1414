// Endpoint: where the daemon is: a Unix socket, or a library inside this process.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::client {

inline constexpr std::string_view kDefaultSocket = "/run/pace/paced.sock";

enum class EndpointKind { unix_socket, embedded };

struct Endpoint {
    EndpointKind kind = EndpointKind::unix_socket;
    std::string path;  // of the socket; or of the embedded daemon's configuration, "" for none

    // As the user would write it.
    std::string text() const;
};

// "unix:PATH", "embedded:" or "embedded:FILE".
base::Result<Endpoint> parse_endpoint(std::string_view text);

// What `text` says; if it is null, what PACE_ENDPOINT says; else this node's daemon.
base::Result<Endpoint> resolve_endpoint(const char* text);

}  // namespace pace::client
