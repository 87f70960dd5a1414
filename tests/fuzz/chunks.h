// Chunks: one fuzz input as several messages. Each message has its length (2 bytes, little-endian)
// in front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pace::fuzz {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(const uint8_t* data, size_t size) {
    Bytes bytes(size);
    std::transform(data, data + size, bytes.begin(), [](uint8_t b) { return std::byte{b}; });
    return bytes;
}

// Each chunk has memory of its own, aligned as malloc aligns. The last chunk may be cut.
inline std::vector<Bytes> chunks_of(std::span<const std::byte> input) {
    std::vector<Bytes> chunks;
    while (input.size() >= 2) {
        const size_t said = std::to_integer<size_t>(input[0]) | std::to_integer<size_t>(input[1])
                                                                    << 8U;
        const size_t size = std::min(said, input.size() - 2);
        chunks.emplace_back(input.begin() + 2,
                            input.begin() + 2 + static_cast<std::ptrdiff_t>(size));
        input = input.subspan(2 + size);
    }
    return chunks;
}

inline void append_chunk(Bytes& input, std::span<const std::byte> chunk) {
    input.push_back(static_cast<std::byte>(chunk.size() & 0xFFU));
    input.push_back(static_cast<std::byte>(chunk.size() >> 8U & 0xFFU));
    input.insert(input.end(), chunk.begin(), chunk.end());
}

}  // namespace pace::fuzz
