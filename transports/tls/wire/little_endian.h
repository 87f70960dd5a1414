// Little-endian integers in bytes that travel between machines.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace pace::transports::tls {

// `bytes` must have room for the integer.
template <std::unsigned_integral T>
void put_little(std::span<std::byte> bytes, T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
        bytes[i] = static_cast<std::byte>((value >> (8 * i)) & 0xFFU);
}

template <std::unsigned_integral T>
T get_little(std::span<const std::byte> bytes) {
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
        value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes[i]) << (8 * i)));
    return value;
}

}  // namespace pace::transports::tls
