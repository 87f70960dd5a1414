// sum_floor.cpp: measures how fast this machine can sum the buffers of W workers in place, so that
// every worker gets the result. Each thread reads its share of all buffers once and writes it back
// once.
//
//     sum_floor WORKERS BYTES SECONDS     prints {"samples_s": [...]}
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBlockFloats =
    1024;  // 4 KB of each buffer: all of a block stays in the first cache
constexpr size_t kSamplesMax = 4096;

float* map_buffer(size_t bytes) {
    const int file = memfd_create("pace-floor", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        std::perror("memfd");
        std::exit(2);
    }
    void* address =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    if (address == MAP_FAILED) {
        std::perror("mmap");
        std::exit(2);
    }
    return static_cast<float*>(address);
}

// Add one block of one worker's buffer to the sum, and copy the sum back. Any compiler vectorizes
// these loops.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) void add(
    float* __restrict sum, const float* __restrict values, size_t count) {
    for (size_t i = 0; i < count; ++i) sum[i] += values[i];
}

void sum_share(std::span<float* const> buffers, size_t begin, size_t end) {
    alignas(64) float sum[kBlockFloats];
    for (size_t at = begin; at < end; at += kBlockFloats) {
        const size_t count = std::min(kBlockFloats, end - at);
        std::copy_n(buffers[0] + at, count, sum);
        for (float* const buffer : buffers.subspan(1)) add(sum, buffer + at, count);
        for (float* const buffer : buffers) std::copy_n(sum, count, buffer + at);
    }
}

// Sums until `seconds` have passed. Returns the seconds of each sum.
std::vector<double> measure(std::span<float* const> buffers, size_t count, double seconds) {
    // A helping thread is not worth its wake-up if one core sums the buffer sooner.
    const size_t processors = std::max(1U, std::thread::hardware_concurrency());
    const size_t threads = buffers.size() * count * sizeof(float) < 256 * 1024 ? 1 : processors;
    const size_t share = (count / threads + 15) / 16 * 16;
    std::vector<double> samples;
    bool end = false;
    std::barrier meet(static_cast<ptrdiff_t>(threads));
    const auto work = [&](size_t thread) {
        const size_t begin = std::min(count, thread * share);
        const size_t stop = thread + 1 == threads ? count : std::min(count, begin + share);
        Clock::time_point first{};
        for (size_t iteration = 0;; ++iteration) {
            meet.arrive_and_wait();
            if (end) return;
            const Clock::time_point start = Clock::now();
            sum_share(buffers, begin, stop);
            meet.arrive_and_wait();
            if (thread != 0) continue;
            const Clock::time_point now = Clock::now();
            if (iteration == 1) first = now;
            if (iteration < 2) continue;
            samples.push_back(std::chrono::duration<double>(now - start).count());
            const double elapsed = std::chrono::duration<double>(now - first).count();
            end = samples.size() == kSamplesMax || (samples.size() >= 5 && elapsed >= seconds);
        }
    };
    std::vector<std::thread> helpers;
    for (size_t thread = 1; thread < threads; ++thread) helpers.emplace_back(work, thread);
    work(0);
    for (std::thread& helper : helpers) helper.join();
    return samples;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s WORKERS BYTES SECONDS\n", argv[0]);
        return 2;
    }
    const size_t workers = std::strtoull(argv[1], nullptr, 10);
    const size_t bytes = std::strtoull(argv[2], nullptr, 10);
    const double seconds = std::strtod(argv[3], nullptr);
    std::vector<float*> buffers(workers);
    for (float*& buffer : buffers) buffer = map_buffer(bytes);
    const std::vector<double> samples = measure(buffers, bytes / sizeof(float), seconds);
    std::printf("{\"samples_s\": [");
    for (size_t i = 0; i < samples.size(); ++i) std::printf("%s%.9f", i ? ", " : "", samples[i]);
    std::printf("]}\n");
    return 0;
}
