// Address: where a server listens, and the socket for it.
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

// "127.0.0.1:7412", "[::1]:0" or "localhost:0": numeric, since a name may lead elsewhere tomorrow.
base::Result<Address> parse_address(std::string_view text);

// A socket that listens there without blocking; taken if the port is in use.
base::Result<base::UniqueFd> listen_at(const Address& address);

// Where a socket listens, with the port that it got.
base::Result<Address> address_of(int socket);

}  // namespace pace::http
