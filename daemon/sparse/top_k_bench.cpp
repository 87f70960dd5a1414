// top_k_bench: compares exact selection with one streaming read of the same memory, in one run, and
// prints ratios. It also measures the other work on every element in a sparse exchange: forming the
// gradient and writing the result.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "daemon/kernels/pool.h"
#include "daemon/sparse/residual/gradient.h"
#include "daemon/sparse/residual/top_k.h"
#include "daemon/sparse/wire/division.h"
#include "daemon/sparse/wire/wire.h"

namespace {

using namespace pace;
using namespace pace::sparse;

constexpr size_t kElements = 14728266;  // VGG-16

template <typename Call>
double median_of(Call&& call) {
    std::vector<double> times;
    call();
    for (int i = 0; i < 15; ++i) {
        const auto begin = base::now();
        call();
        times.push_back(base::to_seconds(base::now() - begin));
    }
    std::nth_element(times.begin(), times.begin() + 7, times.end());
    return times[7];
}

// Reads everything once. Eight sums, so that the additions do not limit the speed.
uint64_t read_all(const std::vector<float>& vector, kernels::WorkerPool& pool) {
    std::atomic<uint64_t> total{0};
    pool.parallel_for(vector.size() / 16, size_t{1} << 13, [&](size_t begin, size_t end) {
        uint64_t sums[8] = {};
        for (size_t i = begin; i < end; ++i) {
            uint64_t words[8];
            std::memcpy(words, vector.data() + 16 * i, sizeof(words));
            for (size_t j = 0; j < 8; ++j) sums[j] += words[j];
        }
        for (const uint64_t sum : sums) total += sum;
    });
    return total;
}

std::vector<float> gradient_like(size_t count) {
    base::Random random(1);
    std::vector<float> vector(count);
    for (float& value : vector) {
        // Roughly a bell curve with long tails.
        const double u = random.uniform() + random.uniform() + random.uniform() - 1.5;
        value = static_cast<float>(1e-3 * u * u * u);
    }
    return vector;
}

void report_selection(const std::vector<float>& vector, size_t threads) {
    kernels::WorkerPool pool(threads - 1);
    const double read = median_of([&] { read_all(vector, pool); });
    std::printf("%zu thread(s): one streaming read %.2f ms (%.1f GB/s)\n", threads, read * 1e3,
                4e-9 * static_cast<double>(vector.size()) / read);
    for (const double density : {0.001, 0.01, 0.1}) {
        const size_t k = top_count(vector.size(), density);
        const double whole = median_of([&] { (void)top_k(vector, k, pool); });
        // Divided as by Spar-Reduce-Scatter among six workers.
        const Division division(vector.size(), 6, density);
        const double blocks = median_of([&] {
            for (size_t b = 0; b < 6; ++b) {
                const Block block = division.block(b);
                (void)top_k(std::span(vector).subspan(block.begin, block.length()), block.k, pool);
            }
        });
        std::printf("  density %5.3f: top-k %.2f ms x%.2f, in six blocks %.2f ms x%.2f\n", density,
                    whole * 1e3, whole / read, blocks * 1e3, blocks / read);
    }
}

void report_rest(const std::vector<float>& vector, size_t threads) {
    kernels::WorkerPool pool(threads - 1);
    const collectives::Layout layout({{protocol::DType::f32, vector.size()}});
    const collectives::LocalPart part(layout, {{{std::as_bytes(std::span(vector)).data()}, 1.0}});
    const Packed packed(layout);
    std::vector<float> residual(vector.size(), 1e-6F);
    std::vector<float> out(vector.size());
    std::vector<std::byte> result(layout.bytes());
    const Entries entries = top_k(vector, top_count(vector.size(), 0.01), pool);
    const double form =
        median_of([&] { gather_gradient(part, packed, residual, out, 0, out.size(), pool); });
    const double scatter = median_of([&] { scatter_result(entries, 0.25, packed, result, pool); });
    std::printf("  forming the gradient %.2f ms, writing the result %.2f ms\n", form * 1e3,
                scatter * 1e3);
    for (const WireFormat format : {WireFormat{IndexFormat::plain, ValueFormat::f32},
                                    WireFormat{IndexFormat::elias_fano, ValueFormat::f32},
                                    WireFormat{IndexFormat::elias_fano, ValueFormat::f16}}) {
        const Frame frame{vector.size(), entries.size()};
        std::vector<std::byte> bytes(coded_bytes_max(format, frame));
        const double coding = median_of([&] { encode(format, frame, entries, bytes); });
        const double decoding = median_of([&] { (void)decode(format, frame, bytes); });
        std::printf(
            "  index format %d, value format %d: %.2f bytes an entry, encode %.2f ms, "
            "decode %.2f ms\n",
            static_cast<int>(format.index), static_cast<int>(format.value),
            static_cast<double>(bytes.size()) / static_cast<double>(entries.size()), coding * 1e3,
            decoding * 1e3);
    }
}

}  // namespace

int main() {
    const std::vector<float> vector = gradient_like(kElements);
    for (const size_t threads : {1, 2}) {
        report_selection(vector, threads);
        report_rest(vector, threads);
    }
}
