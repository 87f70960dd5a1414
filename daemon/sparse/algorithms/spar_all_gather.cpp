#include "daemon/sparse/algorithms/spar_all_gather.h"

#include <functional>
#include <utility>

#include "daemon/sparse/algorithms/team_gather.h"
#include "daemon/sparse/residual/top_k.h"

namespace pace::sparse {

using base::Result;
using base::Task;

namespace {

// R-SAG: recursive doubling, with the top L after each exchange. After exchange t, 2^t workers hold
// the same entries. They discard the same entries, and each keeps 1/2^t of them. The paper says
// that each keeps half after each exchange. But from the second exchange on, four and more workers
// hold the entries, and halves would be too much.
Task<Result<Entries>> r_sag(Exchange& exchange, Ring position, size_t block, bool wait) {
    const Frame frame = exchange.frame(block);
    Entries held = co_await cut_aside(exchange, block, frame.k);
    if (!wait) exchange.collection.settle();
    for (size_t t = 0; (size_t{1} << t) < position.size; ++t) {
        const size_t distance = size_t{1} << t;
        co_await round_and_keep(exchange, block, held, {distance, position.self % distance});
        const size_t partner = position.node(position.self ^ distance);
        Result<Entries> theirs = co_await exchange_entries(exchange, partner, held, partner, frame,
                                                           slot_of(SparsePhase::between_teams, t));
        if (!theirs) co_return std::move(theirs).error();
        co_await add_and_cut(exchange, block, held, *theirs, frame.k,
                             {2 * distance, position.self % (2 * distance)});
    }
    co_await round_and_keep(exchange, block, held, {position.size, position.self});
    co_return held;
}

// B-SAG: each worker sends its top h to all others by Bruck's all-gather, and then takes the top L
// of the sum. Nothing may be cut on the way, because the teams would end with different blocks.
// Algorithm 2 adapts h so that the sum has about L entries. The paper cuts to L first and then to h
// of these entries, which is the same.
Task<Result<Entries>> b_sag(Exchange& exchange, Ring position, size_t block, bool wait) {
    Frame frame = exchange.frame(block);
    const size_t L = frame.k;
    frame.k = std::min(exchange.adaptation.ratio.h(), L);
    const Entries own = co_await cut_aside(exchange, block, frame.k);
    if (!wait) exchange.collection.settle();
    Result<std::vector<Entries>> all =
        co_await gather_entries(exchange, position, SparsePhase::between_teams,
                                std::vector<Frame>(position.size, frame), own);
    if (!all) co_return std::move(all).error();
    Split split;
    const std::function<void()> cut = [&] {
        const Entries sum = sum_all(std::move(all).value());
        exchange.adaptation.ratio.adjust(sum.size());
        split = split_top_k(sum, L);
    };
    co_await exchange.aside.run(entries_of(*all), cut);
    const Holders holders{position.size, position.self};
    co_await keep(exchange, block, split.rest, holders);
    co_await round_and_keep(exchange, block, split.kept, holders);
    co_return std::move(split.kept);
}

// Ends when all workers of `position` have come here. Each sends one byte (team_gather.h says why).
Task<Result<>> wait_for_all(Exchange& exchange, Ring position) {
    const std::vector<size_t> ones(position.size, 1);
    Bytes gathered(position.size, std::byte{0});
    const Result<> moved =
        co_await bruck_all_gather(exchange.communicator, position,
                                  slot_of(SparsePhase::between_teams, kRoundsMax), ones, gathered);
    co_return moved;
}

}  // namespace

Task<Result<Entries>> spar_all_gather(Exchange& exchange, Ring position, size_t block) {
    if (position.size == 1) {
        // Algorithm 1, line 10.
        Entries own = co_await cut_aside(exchange, block, exchange.frame(block).k);
        exchange.collection.settle();
        co_return own;
    }
    const Options& options = exchange.options;
    const bool wait =
        teams_wait(options.gather, options.residuals, options.format.value, position.size);
    Task<Result<Entries>> meet =
        is_recursive(options.gather, options.residuals, options.format.value, position.size)
            ? r_sag(exchange, position, block, wait)
            : b_sag(exchange, position, block, wait);
    Result<Entries> held = co_await std::move(meet);
    if (!held || !wait) co_return held;
    exchange.collection.settle();
    Result<> all = co_await wait_for_all(exchange, position);
    if (!all) co_return std::move(all).error();
    co_return held;
}

}  // namespace pace::sparse
