#include "daemon/sparse/exchange/messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

namespace pace::sparse {

using base::Result;
using base::Task;
using collectives::Communicator;
using collectives::Operation;

namespace {

using Length = std::array<std::byte, 8>;

Length length_of(const Bytes& bytes) {
    const auto size = static_cast<uint64_t>(bytes.size());
    Length length;
    std::memcpy(length.data(), &size, sizeof(size));
    return length;
}

// Returns an error if a peer announces an impossible length.
Result<size_t> checked_length(std::span<const std::byte> bytes_untrusted, size_t size_max) {
    uint64_t size = 0;
    std::memcpy(&size, bytes_untrusted.data(), sizeof(size));
    if (size > size_max)
        return base::make_error(base::ErrorKind::corrupt,
                                "a peer announced {} bytes where at most {} are possible; it is "
                                "broken or hostile",
                                size, size_max);
    return static_cast<size_t>(size);
}

Task<Result<>> send_part(Communicator& communicator, size_t node, const Bytes& bytes) {
    const Length length = length_of(bytes);
    Operation ahead;
    Operation body;
    communicator.post_send(ahead, node, slot_of(SparsePhase::lengths, 0), length);
    if (!bytes.empty()) communicator.post_send(body, node, slot_of(SparsePhase::bodies, 0), bytes);
    communicator.note(co_await ahead.ended());
    communicator.note(co_await body.ended());
    co_return communicator.status();
}

Task<Result<>> receive_part(Communicator& communicator, size_t node, size_t size_max,
                            Bytes& ret_bytes) {
    Length length{};
    Operation ahead;
    communicator.post_receive(ahead, node, slot_of(SparsePhase::lengths, 0), length);
    communicator.note(co_await ahead.ended());
    if (communicator.aborted()) co_return communicator.status();
    Result<size_t> size = checked_length(length, size_max);
    if (!size) {
        communicator.abort(std::move(size).error());
        co_return communicator.status();
    }
    ret_bytes.resize(size.value());
    Operation body;
    if (!ret_bytes.empty())
        communicator.post_receive(body, node, slot_of(SparsePhase::bodies, 0), ret_bytes);
    communicator.note(co_await body.ended());
    co_return communicator.status();
}

}  // namespace

Task<Result<>> send_receive(Communicator& communicator, size_t to, std::span<const std::byte> sent,
                            size_t from, std::span<std::byte> received, uint32_t slot) {
    Operation sending;
    Operation receiving;
    communicator.post_receive(receiving, from, slot, received);
    communicator.post_send(sending, to, slot, sent);
    communicator.note(co_await receiving.ended());
    communicator.note(co_await sending.ended());
    co_return communicator.status();
}

Task<Result<>> bruck_all_gather(Communicator& communicator, Ring ring, uint32_t first_slot,
                                std::span<const size_t> sizes, std::span<std::byte> gathered) {
    // The ends of the parts of the first i ranks, counted from this rank.
    std::vector<size_t> ends{0};
    for (size_t i = 0; i < ring.size; ++i) ends.push_back(ends.back() + sizes[ring.after(i)]);
    uint32_t slot = first_slot;
    for (size_t have = 1; have < ring.size; have *= 2, ++slot) {
        const size_t count = std::min(have, ring.size - have);
        const std::span<std::byte> mine = gathered.first(ends[count]);
        const std::span<std::byte> theirs =
            gathered.subspan(ends[have], ends[have + count] - ends[have]);
        const Result<> moved =
            co_await send_receive(communicator, ring.node(ring.before(have)), mine,
                                  ring.node(ring.after(have)), theirs, slot);
        if (!moved) co_return moved;
    }
    co_return Result<>();
}

Task<Result<GatheredParts>> gather_parts(Communicator& communicator, const Aside& aside, Ring ring,
                                         const Bytes& part, size_t size_max, size_t use) {
    const std::vector<size_t> eights(ring.size, sizeof(Length));
    Bytes lengths(ring.size * sizeof(Length));
    const Length own = length_of(part);
    std::copy(own.begin(), own.end(), lengths.begin());
    Result<> moved = co_await bruck_all_gather(
        communicator, ring, slot_of(SparsePhase::sizes, use * kRoundsMax), eights, lengths);
    if (!moved) co_return std::move(moved).error();

    std::vector<size_t> sizes(ring.size);
    size_t total = 0;
    for (size_t i = 0; i < ring.size; ++i) {
        Result<size_t> size = checked_length(
            std::span<const std::byte>(lengths).subspan(i * sizeof(Length)), size_max);
        if (!size) {
            communicator.abort(size.error());
            co_return std::move(size).error();
        }
        sizes[ring.after(i)] = size.value();
        total += size.value();
    }
    GatheredParts gathered{Bytes(total), {}};
    const std::function<void()> copy = [&] {
        std::copy(part.begin(), part.end(), gathered.memory.begin());
    };
    co_await aside.run(part.size() / sizeof(float), copy);
    moved = co_await bruck_all_gather(
        communicator, ring, slot_of(SparsePhase::parts, use * kRoundsMax), sizes, gathered.memory);
    if (!moved) co_return std::move(moved).error();

    gathered.parts.resize(ring.size);
    std::span<const std::byte> rest = gathered.memory;
    for (size_t i = 0; i < ring.size; ++i) {
        const size_t rank = ring.after(i);
        gathered.parts[rank] = rest.first(sizes[rank]);
        rest = rest.subspan(sizes[rank]);
    }
    co_return gathered;
}

Task<Result<std::vector<Bytes>>> all_to_all(Communicator& communicator, Ring ring,
                                            std::vector<Bytes> outgoing, size_t size_max) {
    std::vector<Bytes> incoming(ring.size);
    std::vector<Task<Result<>>> tasks;
    for (size_t distance = 1; distance < ring.size; ++distance) {
        const size_t to = ring.after(distance);
        const size_t from = ring.before(distance);
        tasks.push_back(receive_part(communicator, ring.node(from), size_max, incoming[from]));
        tasks.push_back(send_part(communicator, ring.node(to), outgoing[to]));
    }
    co_await base::when_all(std::move(tasks));
    Result<> status = communicator.status();
    if (!status) co_return std::move(status).error();
    incoming[ring.self] = std::move(outgoing[ring.self]);
    co_return incoming;
}

}  // namespace pace::sparse
