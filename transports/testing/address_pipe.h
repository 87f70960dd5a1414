// Sends and receives addresses over a stream socket, for tests and measurements that start a second
// process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <optional>

#include "transports/transport.h"

namespace pace::transports {

inline bool write_fully(int fd, const void* bytes, size_t size) {
    return write(fd, bytes, size) == static_cast<ssize_t>(size);
}

inline bool read_fully(int fd, void* bytes, size_t size) {
    auto* next = static_cast<std::byte*>(bytes);
    while (size > 0) {
        const ssize_t count = read(fd, next, size);
        if (count <= 0) return false;
        next += count;
        size -= static_cast<size_t>(count);
    }
    return true;
}

inline bool write_address(int fd, const Address& address) {
    const auto size = static_cast<uint32_t>(address.size());
    return write_fully(fd, &size, sizeof(size)) && write_fully(fd, address.data(), size);
}

inline std::optional<Address> read_address(int fd) {
    uint32_t size = 0;
    if (!read_fully(fd, &size, sizeof(size)) || size > kAddressBytesMax) return std::nullopt;
    Address address(size);
    if (!read_fully(fd, address.data(), size)) return std::nullopt;
    return address;
}

}  // namespace pace::transports
