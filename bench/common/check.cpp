#include "bench/common/check.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

namespace pace::bench {

namespace {

// FNV-1a, over the elements.
uint64_t hash_of(std::span<const float> buffer) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const float value : buffer) {
        hash ^= std::bit_cast<uint32_t>(value);
        hash *= 0x100000001b3;
    }
    return hash;
}

}  // namespace

float expected_sum(const Options& options) {
    return static_cast<float>(options.world) * static_cast<float>(options.world + 1) / 2;
}

void check_elements(const Options& options, std::span<const float> buffer, float expected) {
    for (size_t i = 0; i < buffer.size(); ++i) {
        const float difference = buffer[i] - expected;
        if (difference < 1e-3F && difference > -1e-3F) continue;
        std::fprintf(stderr, "rank %u: element %zu is %g, not %g\n", options.rank, i,
                     static_cast<double>(buffer[i]), static_cast<double>(expected));
        std::exit(1);
    }
}

void check_dense_exchange(const Options& options, Scoreboard& board, const Subject& subject) {
    std::ranges::fill(subject.buffer, static_cast<float>(options.rank + 1));
    board.meet(subject.progress);
    subject.exchange();
    check_elements(options, subject.buffer, subject.expected);
    std::ranges::fill(subject.buffer, 0.0F);
}

void check_sparse_exchange(const Options& options, Scoreboard& board, const Subject& subject) {
    board.meet(subject.progress);
    subject.exchange();
    board.account().result_hash = hash_of(subject.buffer);
    board.meet(subject.progress);
    if (board.account().result_hash != board.account_of(0).result_hash) {
        std::fprintf(stderr, "rank %u: the result is not that of rank 0\n", options.rank);
        std::exit(1);
    }
    const auto all = static_cast<double>(subject.buffer.size());
    const auto chosen = all - static_cast<double>(std::ranges::count(subject.buffer, 0.0F));
    // A block of few elements gives at least one element, whatever the density.
    const double chosen_max = options.world * (options.density * all + options.world);
    if (chosen < 1 || chosen > chosen_max) {
        std::fprintf(stderr, "rank %u: %.0f of %.0f elements are not zero; 1 to %.0f may be\n",
                     options.rank, chosen, all, chosen_max);
        std::exit(1);
    }
}

}  // namespace pace::bench
