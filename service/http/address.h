// Address: the address at which a server listens, and the socket for it.
#pragma once

#include <string>
#include <string_view>

#include <sys/socket.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::http {

struct Address {
    sockaddr_storage bytes{};
    socklen_t length = 0;

    bool is_loopback() const;
    std::string text() const;  // "127.0.0.1:7412", "[::1]:7412"
};

// Parses "127.0.0.1:7412", "[::1]:0" or "localhost:0". The address must be numeric, because a name
// may resolve to another address tomorrow.
base::Result<Address> parse_address(std::string_view text);

// Returns a socket that listens at the address without blocking. The error is taken if the port is
// in use.
base::Result<base::UniqueFd> listen_at(const Address& address);

// The address at which a socket listens, with the port that it got.
base::Result<Address> address_of(int socket);

}  // namespace pace::http
