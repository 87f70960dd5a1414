#include "daemon/sparse/algorithms/dense.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/memory/block.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/sparse/residual/gradient.h"
#include "daemon/sparse/residual/gradient_part.h"

namespace pace::sparse {

using base::Result;
using base::Task;
using collectives::Communicator;

namespace {

constexpr size_t kDenseGrainBytes = size_t{1} << 18;  // bytes of one piece of work

// Sums in one pass, in the pool's threads. The node is alone and waits for nobody.
void sum_alone(const GradientPart& gradient, double scale, std::span<std::byte> sum,
               kernels::WorkerPool& pool) {
    const auto work = [&](size_t begin, size_t end) {
        gradient.sum({begin, end}, scale, sum.data() + begin);
    };
    if (!sum.empty()) pool.parallel_for(sum.size(), kDenseGrainBytes, work);
}

// Without the memory the exchange ends for all nodes.
Result<base::Block> memory_apart(Communicator& communicator, const GradientPart& gradient) {
    auto made = base::Block::make(gradient.layout().bytes(), "a sum in f32");
    if (!made) communicator.abort(made.error());
    return made;
}

Task<Result<>> done_aside(const Aside& aside, const std::function<void()>& work) {
    co_await aside.run(work);
    co_return Result<>();
}

}  // namespace

Task<Result<>> dense(Communicator& communicator, const collectives::LocalPart& part,
                     const Packed& packed, double scale, std::span<std::byte> result,
                     std::span<const float> residual, std::span<float> next,
                     const collectives::AllReduceOptions& options, const Aside& aside) {
    const GradientPart gradient(part, packed, residual);
    const bool contributes = communicator.contributes(communicator.self());
    const std::function<void()> settle = [&] {
        if (contributes)
            std::fill(next.begin(), next.end(), 0.0F);
        else
            gather_gradient(part, packed, residual, next, 0, next.size(), aside.pool);
    };

    // If types differ, the sum is first made in f32, unscaled.
    base::Block apart;
    std::span<std::byte> sum = result;
    if (!gradient.is_f32()) {
        auto made = memory_apart(communicator, gradient);
        if (!made) co_return std::move(made).error();
        apart = std::move(*made);
        sum = apart.bytes();
    }
    const double sum_scale = gradient.is_f32() ? scale : 1.0;
    const std::function<void()> alone = [&] { sum_alone(gradient, sum_scale, sum, aside.pool); };

    // The next residual is made while the sum is under way. The sum reads the old residual.
    std::vector<Task<Result<>>> both;
    if (communicator.size() == 1 && contributes)
        both.push_back(done_aside(aside, alone));
    else
        both.push_back(collectives::all_reduce(communicator, gradient, sum_scale, sum, options));
    both.push_back(done_aside(aside, settle));
    const std::vector<Result<>> ended = co_await base::when_all(std::move(both));
    if (!ended.front()) co_return ended.front();
    if (gradient.is_f32()) co_return Result<>();
    const std::function<void()> convert = [&] {
        convert_result(gradient.layout(), sum, scale, packed, result, aside.pool);
    };
    co_await aside.run(convert);
    co_return Result<>();
}

}  // namespace pace::sparse
