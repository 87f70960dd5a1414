// Fuzzes a message of a sparse exchange from a peer that may be broken. Accepted entries must be as
// all later code needs them: strictly increasing, in range, and no more than allowed. encode() must
// write the same message from them.
#include <cmath>
#include <cstdlib>
#include <span>

#include "daemon/sparse/wire/elias_fano.h"
#include "tests/fuzz/sparse_input.h"

namespace {

using namespace pace;
using fuzz::SparseInput;

void require(bool holds) {
    if (!holds) std::abort();
}

void require_increasing(std::span<const uint32_t> indices, size_t length) {
    for (size_t i = 0; i < indices.size(); ++i) {
        require(indices[i] < length);
        require(i == 0 || indices[i - 1] < indices[i]);
    }
}

// A half that is NaN has 2046 patterns. encode() writes one of them.
bool is_canonical(const SparseInput& input, const sparse::Entries& entries) {
    if (input.format.value == sparse::ValueFormat::f32) return true;
    for (const float value : entries.values)
        if (std::isnan(value)) return false;
    return true;
}

void check_entries(const SparseInput& input, sparse::Frame frame, const sparse::Entries& entries) {
    require(entries.values.size() == entries.indices.size());
    require(entries.size() <= frame.k);
    require_increasing(entries.indices, frame.length);
    fuzz::Bytes again(input.message.size(), std::byte{0xFF});
    require(coded_bytes(input.format, frame, entries.size()) <= again.size());
    encode(input.format, frame, entries, again);
    if (is_canonical(input, entries)) {
        require(again == input.message);
        return;
    }
    const auto decoded = decode(input.format, frame, again);
    require(decoded && decoded->indices == entries.indices);
}

void decode_framed(const SparseInput& input) {
    const sparse::Frame frame{input.length, input.k};
    if (const auto entries = decode(input.format, frame, input.message))
        check_entries(input, frame, *entries);
}

void decode_with_count(const SparseInput& input) {
    const auto entries = decode_counted(input.format, input.length, input.k, input.message);
    if (!entries) return;
    require(entries->size() <= input.k);
    const sparse::Frame frame{input.length, entries->size()};
    require(coded_bytes(input.format, frame, entries->size()) == input.message.size());
    check_entries(input, frame, *entries);
}

void decode_indices(const SparseInput& input) {
    const auto indices =
        sparse::elias_fano_decode(input.length, input.k, input.count, input.message);
    if (!indices) return;
    require(indices->size() == input.count);
    require_increasing(*indices, input.length);
    fuzz::Bytes again(sparse::elias_fano_bytes(input.length, input.k, input.count),
                      std::byte{0xFF});
    sparse::elias_fano_encode(input.length, input.k, *indices, again);
    require(again == input.message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto input = fuzz::sparse_input_of(fuzz::bytes_of(data, size));
    if (!input) return 0;
    switch (input->decoder) {
        case fuzz::Decoder::framed:
            decode_framed(*input);
            break;
        case fuzz::Decoder::counted:
            decode_with_count(*input);
            break;
        case fuzz::Decoder::elias_fano:
            decode_indices(*input);
            break;
    }
    return 0;
}
