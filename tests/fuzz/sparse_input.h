// SparseInput: one fuzz input as a message of a sparse exchange, and the expectations of its
// receiver.
//
//     | decoder, index and value format u8 | length u32 | k u32 | count u32 | message |
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "daemon/sparse/wire/wire.h"
#include "tests/fuzz/chunks.h"

namespace pace::fuzz {

enum class Decoder : uint8_t { framed, counted, elias_fano };

struct SparseInput {
    Decoder decoder = Decoder::framed;
    sparse::WireFormat format;
    uint32_t length = 0;
    uint32_t k = 0;
    uint32_t count = 0;  // Elias-Fano alone does not tell it
    Bytes message;
};

inline constexpr size_t kSparseHeaderBytes = 13;

inline std::optional<SparseInput> sparse_input_of(std::span<const std::byte> bytes) {
    if (bytes.size() < kSparseHeaderBytes) return std::nullopt;
    const auto choice = std::to_integer<unsigned>(bytes[0]);
    SparseInput input;
    input.decoder = static_cast<Decoder>(choice % 3);
    input.format.index = static_cast<sparse::IndexFormat>(1 + choice / 3 % 2);
    input.format.value = static_cast<sparse::ValueFormat>(1 + choice / 6 % 3);
    std::memcpy(&input.length, bytes.data() + 1, sizeof(uint32_t));
    std::memcpy(&input.k, bytes.data() + 5, sizeof(uint32_t));
    std::memcpy(&input.count, bytes.data() + 9, sizeof(uint32_t));
    const auto message = bytes.subspan(kSparseHeaderBytes);
    // The copy has exactly this size, so that the sanitizer sees a read past its end.
    input.message.assign(message.begin(), message.end());
    return input;
}

inline Bytes bytes_of(const SparseInput& input) {
    Bytes bytes(kSparseHeaderBytes);
    bytes[0] = static_cast<std::byte>(static_cast<unsigned>(input.decoder) +
                                      3 * (static_cast<unsigned>(input.format.index) - 1) +
                                      6 * (static_cast<unsigned>(input.format.value) - 1));
    std::memcpy(bytes.data() + 1, &input.length, sizeof(uint32_t));
    std::memcpy(bytes.data() + 5, &input.k, sizeof(uint32_t));
    std::memcpy(bytes.data() + 9, &input.count, sizeof(uint32_t));
    bytes.insert(bytes.end(), input.message.begin(), input.message.end());
    return bytes;
}

}  // namespace pace::fuzz
