#include "daemon/sparse/algorithms/topk_dsa.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

namespace pace::sparse {

using base::ErrorKind;
using base::Result;
using base::Task;

namespace {

// Values of a part's first byte.
constexpr std::byte kSparsePart{0};
constexpr std::byte kDensePart{1};

size_t dense_bytes(WireFormat format, size_t length) {
    return length * value_bytes(format.value);
}

Bytes encode_dense(WireFormat format, size_t length, const Entries& entries) {
    Bytes bytes(1 + dense_bytes(format, length), std::byte{0});
    bytes[0] = kDensePart;
    for (size_t i = 0; i < entries.size(); ++i) {
        std::byte* out = bytes.data() + 1 + entries.indices[i] * value_bytes(format.value);
        if (format.value == ValueFormat::f32) {
            std::memcpy(out, &entries.values[i], sizeof(float));
        } else {
            const uint16_t bits = half_bits(entries.values[i], format.value);
            std::memcpy(out, &bits, sizeof(bits));
        }
    }
    return bytes;
}

Result<Entries> decode_dense(WireFormat format, size_t length, std::span<const std::byte> bytes) {
    if (bytes.size() != dense_bytes(format, length))
        return base::make_error(ErrorKind::corrupt, "a dense part of {} elements has {} bytes",
                                length, bytes.size());
    Entries entries;
    for (size_t i = 0; i < length; ++i) {
        const std::byte* at = bytes.data() + i * value_bytes(format.value);
        float value = 0;
        if (format.value == ValueFormat::f32) {
            std::memcpy(&value, at, sizeof(value));
        } else {
            uint16_t bits = 0;
            std::memcpy(&bits, at, sizeof(bits));
            value = float_of_half(bits, format.value);
        }
        if (value != 0.0F) entries.push_back(static_cast<uint32_t>(i), value);
    }
    return entries;
}

// An entry takes 8 bytes in the papers' format, and an element takes 4. So a part becomes dense if
// more than half of it is filled.
Bytes encode_part(WireFormat format, size_t length, const Entries& entries) {
    const Frame frame{length, entries.size()};
    const size_t sparse_size = coded_bytes_max(format, frame);
    if (dense_bytes(format, length) < sparse_size) return encode_dense(format, length, entries);
    Bytes bytes(1 + sparse_size);
    bytes[0] = kSparsePart;
    encode(format, frame, entries, std::span(bytes).subspan(1));
    return bytes;
}

Result<Entries> decode_part(WireFormat format, size_t length,
                            std::span<const std::byte> bytes_untrusted) {
    if (!bytes_untrusted.empty() && bytes_untrusted[0] == kDensePart)
        return decode_dense(format, length, bytes_untrusted.subspan(1));
    if (bytes_untrusted.empty() || bytes_untrusted[0] != kSparsePart)
        return base::make_error(ErrorKind::corrupt, "a part is neither sparse nor dense");
    return decode_counted(format, length, length, bytes_untrusted.subspan(1));
}

// The sum of all workers' parts of the range. Workers are summed in order, so that the sum is
// always the same. Zeros are dropped.
struct Sum {
    Entries total;
    Entries errors;  // what rounding takes away, with indices of the whole vector
};
Result<Sum> sum_parts(WireFormat format, const Block& range, const std::vector<Bytes>& parts) {
    std::vector<Entries> lists;
    for (const Bytes& part : parts) {
        Result<Entries> entries = decode_part(format, range.length(), part);
        if (!entries) return std::move(entries).error();
        lists.push_back(std::move(entries).value());
    }
    Sum sum;
    sum.total = sum_all(std::move(lists));
    drop_zeros(sum.total);
    sum.errors = round_entries(sum.total, format.value);
    for (uint32_t& index : sum.errors.indices) index += static_cast<uint32_t>(range.begin);
    return sum;
}

Result<Entries> join_parts(WireFormat format, const Division& ranges,
                           const std::vector<std::span<const std::byte>>& parts) {
    Entries all;
    for (size_t r = 0; r < parts.size(); ++r) {
        const Block range = ranges.block(r);
        Result<Entries> part = decode_part(format, range.length(), parts[r]);
        if (!part) return part;
        append_block(all, *part, range.begin);
    }
    return all;
}

// Gives each worker the parts of its range. Returns all workers' parts of this one's.
Task<Result<std::vector<Bytes>>> send_parts(Exchange& exchange, const Division& ranges,
                                            size_t size_max) {
    const Entries own = co_await cut_aside(exchange, 0, exchange.frame(0).k);
    std::vector<Bytes> outgoing(exchange.P());
    const std::function<void()> encode_all = [&] {
        for (size_t r = 0; r < exchange.P(); ++r) {
            const Block range = ranges.block(r);
            outgoing[r] =
                encode_part(exchange.format(), range.length(), slice(own, range.begin, range.end));
        }
    };
    co_await exchange.aside.run(encode_all);
    const Ring ring = ring_of_all(exchange.P(), exchange.w());
    co_return co_await all_to_all(exchange.communicator, ring, std::move(outgoing), size_max);
}

// Returns the sum of the range as it travels, and keeps what rounding takes away.
Task<Result<Bytes>> sum_range(Exchange& exchange, Block range, const std::vector<Bytes>& parts) {
    std::optional<Result<Sum>> sum;
    Bytes part;
    const std::function<void()> add = [&] {
        sum = sum_parts(exchange.format(), range, parts);
        if (*sum) part = encode_part(exchange.format(), range.length(), (*sum)->total);
    };
    co_await exchange.aside.run(add);
    if (!*sum) co_return exchange.fail(std::move(*sum).error());
    co_await keep(exchange, 0, (*sum)->errors, {});
    co_return part;
}

Task<Result<Entries>> gather_sums(Exchange& exchange, const Division& ranges, const Bytes& part,
                                  size_t size_max) {
    const Ring ring = ring_of_all(exchange.P(), exchange.w());
    Result<GatheredParts> gathered =
        co_await gather_parts(exchange.communicator, exchange.aside, ring, part, size_max, 0);
    if (!gathered) co_return std::move(gathered).error();
    std::optional<Result<Entries>> joined;
    const std::function<void()> join = [&] {
        joined = join_parts(exchange.format(), ranges, gathered->parts);
    };
    co_await exchange.aside.run(join);
    if (!*joined) co_return exchange.fail(std::move(*joined).error());
    co_return std::move(**joined);
}

}  // namespace

Task<Result<Entries>> topk_dsa(Exchange& exchange) {
    const size_t length = exchange.frame(0).length;
    const Division ranges(length, exchange.P(), exchange.options.density);
    // The size of the longest range if it is dense, or of a part that is as sparse as may be sent.
    const size_t size_max =
        1 + dense_bytes(exchange.format(), length / exchange.P() + 1) + kCountBytes;
    Result<std::vector<Bytes>> parts = co_await send_parts(exchange, ranges, size_max);
    if (!parts) co_return std::move(parts).error();
    Result<Bytes> sum = co_await sum_range(exchange, ranges.block(exchange.w()), *parts);
    if (!sum) co_return std::move(sum).error();
    exchange.collection.settle();
    Result<Entries> all = co_await gather_sums(exchange, ranges, *sum, size_max);
    if (!all) co_return all;
    co_await finish_aside(exchange, 0, *all);
    co_return all;
}

}  // namespace pace::sparse
