#include "daemon/sparse/exchange.h"

#include <new>
#include <utility>

#include "base/attempt.h"

namespace pace::sparse {

using base::Result;
using base::Task;

namespace {

// Less takes about as long as going to another thread and back. A guess.
constexpr size_t kAsideMin = size_t{1} << 15;

}  // namespace

Task<> Aside::run(const std::function<void()>& work) const {
    if (!post || count < kAsideMin) {
        work();
        co_return;
    }
    base::OneShot<bool> done;
    bool had_memory = false;
    pool.submit(
        1, 1, [&](size_t, size_t) { had_memory = base::attempt(work); }, post,
        [&done] { done.set(true); });
    co_await done;
    if (!had_memory)
        throw std::bad_alloc();  // the coroutine that asked for the work ends with this
}

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

Task<> keep(Exchange& exchange, size_t block, const Entries& discarded, size_t holders,
            size_t place) {
    const std::function<void()> keep = [&] {
        exchange.collection.keep(block, discarded, holders, place);
    };
    if (exchange.collection.is_on_host())
        keep();
    else
        co_await exchange.aside.run(keep);
    exchange.communicator.note(exchange.collection.status());
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
    encode(format, frames[ring.self], own, std::span(gathered).first(sizes[ring.self]));
    Result<> moved =
        co_await bruck_all_gather(exchange.communicator, ring, slot_of(phase, 0), sizes, gathered);
    if (!moved) co_return std::move(moved).error();
    std::vector<Entries> all(ring.size);
    size_t begin = 0;
    for (size_t i = 0; i < ring.size; ++i) {
        const size_t rank = ring.after(i);
        Result<Entries> entries = decode(
            format, frames[rank], std::span<const std::byte>(gathered).subspan(begin, sizes[rank]));
        if (!entries) co_return exchange.fail(std::move(entries).error());
        all[rank] = std::move(entries).value();
        begin += sizes[rank];
    }
    co_return all;
}

Task<Result<Entries>> exchange_entries(Exchange& exchange, size_t to, const Entries& entries,
                                       size_t from, Frame frame, uint32_t slot) {
    Bytes sent(coded_bytes_max(exchange.format(), frame));
    Bytes received(sent.size());
    encode(exchange.format(), frame, entries, sent);
    Result<> moved = co_await send_receive(exchange.communicator, to, sent, from, received, slot);
    if (!moved) co_return std::move(moved).error();
    Result<Entries> theirs = decode(exchange.format(), frame, received);
    if (!theirs) co_return exchange.fail(std::move(theirs).error());
    co_return theirs;
}

}  // namespace pace::sparse
