#include "daemon/sparse/algorithms/spar_dl.h"

#include <functional>
#include <utility>
#include <vector>

#include "daemon/sparse/algorithms/spar_all_gather.h"
#include "daemon/sparse/algorithms/spar_reduce_scatter.h"

namespace pace::sparse {

using base::Result;
using base::Task;

Task<Result<Entries>> spar_dl(Exchange& exchange, size_t teams) {
    const Ring team = team_of(exchange.P(), teams, exchange.w());
    const Ring position = position_of(exchange.P(), teams, exchange.w());

    // Algorithm 1, lines 4 to 9.
    Result<> reduced = co_await spar_reduce_scatter(exchange, team);
    if (!reduced) co_return std::move(reduced).error();

    // Line 10, and section 3.3.
    Result<Entries> held = co_await spar_all_gather(exchange, position, team.self);
    if (!held) co_return std::move(held).error();

    // Line 11.
    std::vector<Frame> frames(team.size);
    for (size_t block = 0; block < team.size; ++block) frames[block] = exchange.frame(block);
    Result<std::vector<Entries>> blocks =
        co_await gather_entries(exchange, team, SparsePhase::gather, std::move(frames), *held);
    if (!blocks) co_return std::move(blocks).error();

    // Lines 12 to 14.
    Entries all;
    const std::function<void()> finish = [&] {
        for (size_t block = 0; block < team.size; ++block) {
            const Entries& chosen = blocks.value()[block];
            exchange.collection.finish(block, chosen.indices);
            append_block(all, chosen, exchange.collection.division().block(block).begin);
        }
    };
    co_await exchange.aside.run(finish);
    co_return all;
}

}  // namespace pace::sparse
