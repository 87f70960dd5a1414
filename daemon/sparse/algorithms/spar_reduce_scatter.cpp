#include "daemon/sparse/algorithms/spar_reduce_scatter.h"

#include <functional>
#include <utility>
#include <vector>

#include "daemon/sparse/wire/division.h"

namespace pace::sparse {

using base::Result;
using base::Task;

namespace {

size_t bag_bytes(const Exchange& exchange, const std::vector<size_t>& bag) {
    size_t bytes = 0;
    for (const size_t block : bag)
        bytes += coded_bytes_max(exchange.format(), exchange.frame(block));
    return bytes;
}

// Cuts each block of the bag just before it is sent, not after each sum ("Optimization for SRS";
// Algorithm 1, lines 6 to 8), and packs the blocks.
Bytes pack_bag(Exchange& exchange, const std::vector<size_t>& bag) {
    Bytes bytes(bag_bytes(exchange, bag));
    std::span<std::byte> rest(bytes);
    for (const size_t block : bag) {
        const Frame frame = exchange.frame(block);
        const size_t size = coded_bytes_max(exchange.format(), frame);
        encode(exchange.format(), frame, exchange.collection.cut(block, frame.k), rest.first(size));
        rest = rest.subspan(size);
    }
    return bytes;
}

// Adds received entries to the blocks that are still held (line 9; Theorem 3.1: all received blocks
// are held).
Result<> add_bag(Exchange& exchange, const std::vector<size_t>& bag,
                 std::span<const std::byte> bytes) {
    for (const size_t block : bag) {
        const Frame frame = exchange.frame(block);
        const size_t size = coded_bytes_max(exchange.format(), frame);
        Result<Entries> received = decode(exchange.format(), frame, bytes.first(size));
        if (!received) return std::move(received).error();
        exchange.collection.add(block, *received);
        bytes = bytes.subspan(size);
    }
    return exchange.collection.status();
}

}  // namespace

Task<Result<>> spar_reduce_scatter(Exchange& exchange, Ring team) {
    collectives::Communicator& communicator = exchange.communicator;
    const size_t l = steps_of(team.size);
    for (size_t i = 1; i <= l; ++i) {
        const size_t distance = size_t{1} << (l - i);
        const size_t target = team.after(distance);
        const size_t source = team.before(distance);
        const std::vector<size_t> sending = bag_of(team.size, team.self, l - i + 1);
        const std::vector<size_t> coming = bag_of(team.size, source, l - i + 1);
        const uint32_t slot = slot_of(SparsePhase::reduce_scatter, i);

        // The neighbour may be ahead: its bag may arrive while this one is cut.
        Bytes received(bag_bytes(exchange, coming));
        collectives::Operation receiving;
        collectives::Operation sent;
        communicator.post_receive(receiving, team.node(source), slot, received);
        Bytes bytes;
        const std::function<void()> pack = [&] { bytes = pack_bag(exchange, sending); };
        co_await exchange.aside.run(pack);
        communicator.note(exchange.collection.status());
        communicator.post_send(sent, team.node(target), slot, bytes);
        const std::function<void()> form = [&] { exchange.collection.form_all(); };
        if (i == 1) co_await exchange.aside.run(form);
        communicator.note(co_await receiving.ended());
        if (!communicator.aborted()) {
            Result<> added;
            const std::function<void()> add = [&] { added = add_bag(exchange, coming, received); };
            co_await exchange.aside.run(add);
            communicator.note(added);
        }
        communicator.note(co_await sent.ended());
        if (communicator.aborted()) co_return communicator.status();
    }
    co_return Result<>();
}

}  // namespace pace::sparse
