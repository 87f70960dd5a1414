// Options: an operator's configuration of the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace pace::settings {
class Settings;
}

namespace pace::http {

// Limits on what clients may cost. The numbers are guesses: a browser opens six connections,
// Prometheus one, a load balancer some.
struct Limits {
    uint32_t connections_max = 64;
    uint32_t connections_max_with_tls = 24;  // handshakes run on the loop, about 2 ms each
    uint32_t address_connections_max = 32;   // from one address
    size_t header_bytes_max = 16 * 1024;     // of a connection: headers and half-read data
    size_t body_bytes_max = 4 * 1024;
    size_t query_names_max = 32;
    size_t unread_bytes_max = size_t{64} << 20U;  // of answers that clients have not read yet
    // The time until a request is complete, and the time until the next request is complete.
    base::Duration request_time_max = std::chrono::seconds(10);
    // The time until the client has read an answer.
    base::Duration answer_time_max = std::chrono::seconds(20);
};

struct Options {
    // "127.0.0.1:7412", "[::1]:0", "localhost:0", "10.0.0.1:7412"; port 0 takes a free one.
    std::string listen;
    // Users of this machine, by name or number, who may read on loopback without a token, besides
    // root and the process's own. "*": every user.
    std::vector<std::string> users = {};
    std::string token_file;           // empty: readers need no token
    std::string operator_token_file;  // empty: nobody is an operator
    std::string tls_certificate;      // PEM, with its chain; set both or none
    std::string tls_key;              // PEM
    Limits limits = {};
};

// Reads the settings http_*, which the daemon and the controller both have.
Options options_from(const settings::Settings& settings);

}  // namespace pace::http
