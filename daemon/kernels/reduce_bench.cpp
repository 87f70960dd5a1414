// kernels_bench: measures the throughput of the weighted sums relative to the memory floor, in one
// run.
//
// The floor of an in-place sum over K buffers is one pass that reads and writes each buffer, with
// the same number of threads. Here the pass flips a bit of every word.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/kernels/pool.h"
#include "daemon/kernels/reduce.h"

namespace {

using pace::kernels::Source;
using pace::kernels::WorkerPool;
using pace::protocol::DType;

constexpr size_t kGrainBytes = 65536;

struct Buffers {
    Buffers(size_t buffer_count, size_t buffer_bytes) : bytes(buffer_bytes) {
        for (size_t i = 0; i < buffer_count; ++i) {
            void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
            if (memory == MAP_FAILED) std::exit(1);
            outs.push_back(static_cast<std::byte*>(memory));
            sources.push_back({outs.back(), 1.0});
        }
    }
    ~Buffers() {
        for (std::byte* memory : outs) munmap(memory, bytes);
    }
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;

    size_t bytes;
    std::vector<std::byte*> outs;
    std::vector<Source> sources;
};

// Returns the median duration of a call in seconds, measured over about half a second.
template <typename Call>
double median_seconds(Call&& call) {
    std::vector<double> times;
    const auto end = pace::base::now() + std::chrono::milliseconds(400);
    call();
    while (times.size() < 5 || (pace::base::now() < end && times.size() < 2000)) {
        const auto begin = pace::base::now();
        call();
        times.push_back(pace::base::to_seconds(pace::base::now() - begin));
    }
    std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
}

double floor_seconds(const Buffers& buffers, WorkerPool& pool) {
    return median_seconds([&] {
        pool.parallel_for(buffers.bytes, kGrainBytes, [&](size_t begin, size_t end) {
            for (std::byte* buffer : buffers.outs) {
                auto* words = reinterpret_cast<uint64_t*>(buffer);
                for (size_t i = begin / 8; i < end / 8; ++i) words[i] ^= 1U;
            }
        });
    });
}

double sum_seconds(const Buffers& buffers, WorkerPool& pool, DType dtype, double scale) {
    const size_t size = pace::protocol::size_of(dtype);
    return median_seconds([&] {
        pool.parallel_for(buffers.bytes, kGrainBytes, [&](size_t begin, size_t end) {
            pace::kernels::weighted_sum_into_all(dtype, buffers.sources, scale, buffers.outs,
                                                 (end - begin) / size, begin / size);
        });
    });
}

void report(size_t members, size_t megabytes, size_t threads) {
    const Buffers buffers(members, megabytes << 20U);
    WorkerPool pool(threads - 1);
    const double floor = floor_seconds(buffers, pool);
    const double moved = 2.0 * static_cast<double>(members * buffers.bytes) / 1e9;
    std::printf("%zu x %3zu MB, %zu thread(s): floor %8.3f ms %5.1f GB/s |", members, megabytes,
                threads, floor * 1e3, moved / floor);
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        const double time = sum_seconds(buffers, pool, dtype, 1.0 / static_cast<double>(members));
        std::printf(" %s %8.3f ms x%.2f |", std::string(name_of(dtype)).c_str(), time * 1e3,
                    time / floor);
    }
    std::printf("\n");
}

}  // namespace

int main() {
    for (const size_t threads : {1, 2})
        for (const size_t megabytes : {1, 16, 100})
            for (const size_t members : {2, 4, 8}) report(members, megabytes, threads);
}
