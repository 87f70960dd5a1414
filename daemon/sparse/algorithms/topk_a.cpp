#include "daemon/sparse/algorithms/topk_a.h"

#include <functional>
#include <utility>

namespace pace::sparse {

using base::Result;
using base::Task;

Task<Result<Entries>> topk_a(Exchange& exchange) {
    const Frame frame = exchange.frame(0);
    const Entries own = co_await cut_aside(exchange, 0, frame.k);
    exchange.collection.settle();
    // SparCML uses recursive doubling, which needs a power of two. Bruck's all-gather costs the
    // same and works for any number.
    Result<std::vector<Entries>> all =
        co_await gather_entries(exchange, ring_of_all(exchange.P(), exchange.w()),
                                SparsePhase::gather, std::vector<Frame>(exchange.P(), frame), own);
    if (!all) co_return std::move(all).error();
    Entries total;
    const std::function<void()> add_up = [&] { total = sum_all(std::move(all).value()); };
    co_await exchange.aside.run(entries_of(*all), add_up);
    co_await finish_aside(exchange, 0, total);
    co_return total;
}

}  // namespace pace::sparse
