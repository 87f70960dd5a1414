#include "daemon/sparse/exchange/exchange.h"

#include <functional>
#include <optional>
#include <utility>

#include "daemon/sparse/residual/top_k.h"

namespace pace::sparse {

using base::Result;
using base::Task;

namespace {

size_t entries_in(std::span<const std::byte> bytes) {
    return bytes.size() / sizeof(float);
}

// The number of elements that `work` touches when it keeps or writes so many entries. A gradient
// that is not on the host counts whole, because reaching it takes long even for a few entries.
size_t touched_by(const Exchange& exchange, size_t entries) {
    return exchange.collection.is_on_host() ? entries : exchange.aside.count;
}

}  // namespace

Task<Entries> cut_aside(Exchange& exchange, size_t block, size_t k) {
    Entries chosen;
    const std::function<void()> cut = [&] { chosen = exchange.collection.cut(block, k); };
    co_await exchange.aside.run(cut);
    exchange.communicator.note(exchange.collection.status());
    co_return chosen;
}

Task<> finish_aside(Exchange& exchange, size_t block, const Entries& chosen) {
    const std::function<void()> finish = [&] { exchange.collection.finish(block, chosen.indices); };
    co_await exchange.aside.run(finish);
}

Task<> keep(Exchange& exchange, size_t block, const Entries& discarded, Holders holders) {
    const std::function<void()> keep = [&] {
        exchange.collection.keep(block, discarded, holders.count, holders.place);
    };
    co_await exchange.aside.run(touched_by(exchange, discarded.size()), keep);
    exchange.communicator.note(exchange.collection.status());
}

Task<> add_and_cut(Exchange& exchange, size_t block, Entries& held, const Entries& theirs, size_t k,
                   Holders holders) {
    const std::function<void()> cut = [&] {
        Split split = split_top_k(sum(held, theirs), k);
        exchange.collection.keep(block, split.rest, holders.count, holders.place);
        held = std::move(split.kept);
    };
    co_await exchange.aside.run(touched_by(exchange, held.size() + theirs.size()), cut);
    exchange.communicator.note(exchange.collection.status());
}

Task<> round_and_keep(Exchange& exchange, size_t block, Entries& held, Holders holders) {
    if (exchange.format().value == ValueFormat::f32) co_return;
    const std::function<void()> round = [&] {
        const Entries errors = round_entries(held, exchange.format().value);
        exchange.collection.keep(block, errors, holders.count, holders.place);
    };
    co_await exchange.aside.run(touched_by(exchange, held.size()), round);
    exchange.communicator.note(exchange.collection.status());
}

Task<Bytes> encode_aside(Exchange& exchange, Frame frame, const Entries& entries) {
    Bytes bytes(coded_bytes_max(exchange.format(), frame));
    const std::function<void()> code = [&] { encode(exchange.format(), frame, entries, bytes); };
    co_await exchange.aside.run(entries_in(bytes), code);
    co_return bytes;
}

Task<Result<Entries>> decode_aside(Exchange& exchange, Frame frame,
                                   std::span<const std::byte> bytes_untrusted) {
    std::optional<Result<Entries>> entries;
    const std::function<void()> read = [&] {
        entries = decode(exchange.format(), frame, bytes_untrusted);
    };
    co_await exchange.aside.run(entries_in(bytes_untrusted), read);
    if (!*entries) co_return exchange.fail(std::move(*entries).error());
    co_return std::move(*entries);
}

Task<Result<std::vector<Entries>>> gather_entries(Exchange& exchange, Ring ring, SparsePhase phase,
                                                  std::vector<Frame> frames, const Entries& own) {
    const WireFormat format = exchange.format();
    std::vector<size_t> sizes(ring.size);
    size_t total = 0;
    for (size_t rank = 0; rank < ring.size; ++rank) {
        sizes[rank] = coded_bytes_max(format, frames[rank]);
        total += sizes[rank];
    }
    Bytes gathered(total);
    const std::span<std::byte> own_bytes = std::span(gathered).first(sizes[ring.self]);
    const std::function<void()> code = [&] { encode(format, frames[ring.self], own, own_bytes); };
    co_await exchange.aside.run(entries_in(own_bytes), code);
    Result<> moved =
        co_await bruck_all_gather(exchange.communicator, ring, slot_of(phase, 0), sizes, gathered);
    if (!moved) co_return std::move(moved).error();
    std::vector<Entries> all(ring.size);
    Result<> known;
    const std::function<void()> read = [&] {
        std::span<const std::byte> rest = gathered;
        for (size_t i = 0; i < ring.size && known; ++i) {
            const size_t rank = ring.after(i);
            Result<Entries> entries = decode(format, frames[rank], rest.first(sizes[rank]));
            rest = rest.subspan(sizes[rank]);
            if (entries)
                all[rank] = std::move(entries).value();
            else
                known = std::move(entries).error();
        }
    };
    co_await exchange.aside.run(entries_in(gathered), read);
    if (!known) co_return exchange.fail(std::move(known).error());
    co_return all;
}

Task<Result<Entries>> exchange_entries(Exchange& exchange, size_t to, const Entries& entries,
                                       size_t from, Frame frame, uint32_t slot) {
    const Bytes sent = co_await encode_aside(exchange, frame, entries);
    Bytes received(sent.size());
    Result<> moved = co_await send_receive(exchange.communicator, to, sent, from, received, slot);
    if (!moved) co_return std::move(moved).error();
    co_return co_await decode_aside(exchange, frame, received);
}

}  // namespace pace::sparse
