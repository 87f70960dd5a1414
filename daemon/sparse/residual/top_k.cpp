#include "daemon/sparse/residual/top_k.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <vector>

#include "daemon/kernels/scan.h"

namespace pace::sparse {

namespace {

constexpr size_t kTile = 4096;              // elements scanned into the stack at once
constexpr size_t kGrain = size_t{1} << 17;  // elements of one piece of work, half a megabyte

// A part of one buffer, with at most kGrain elements.
struct Piece {
    std::span<const float> values;
    uint32_t first_index = 0;
};

std::vector<Piece> pieces_of(Parts parts) {
    std::vector<Piece> pieces;
    size_t index = 0;
    for (const std::span<const float> part : parts) {
        for (size_t begin = 0; begin < part.size(); begin += kGrain)
            pieces.push_back({part.subspan(begin, std::min(kGrain, part.size() - begin)),
                              static_cast<uint32_t>(index + begin)});
        index += part.size();
    }
    return pieces;
}

size_t size_of(Parts parts) {
    size_t size = 0;
    for (const std::span<const float> part : parts) size += part.size();
    return size;
}

// Calls take(indices, values, count) with what each tile has, one tile after the other.
template <typename Take>
void scan_tiles(const Piece& piece, uint32_t key_min, Take take) {
    std::array<uint32_t, kTile + kernels::kScanSlack> indices;
    std::array<float, kTile + kernels::kScanSlack> values;
    for (size_t i = 0; i < piece.values.size(); i += kTile) {
        const size_t count = std::min(kTile, piece.values.size() - i);
        const size_t found = kernels::scan_at_least(piece.values.data() + i, count,
                                                    piece.first_index + static_cast<uint32_t>(i),
                                                    key_min, indices.data(), values.data());
        if (found > 0) take(indices.data(), values.data(), found);
    }
}

// One digit of a key: the bits [shift, shift + bits).
struct Digit {
    uint32_t shift;
    uint32_t bits;
};
constexpr std::array<Digit, 3> kDigits{{{20, 11}, {10, 10}, {0, 10}}};
constexpr size_t kBins = 2048;
using Histogram = std::array<size_t, kBins>;

// Counts keys by their digit. Only keys whose higher digits equal those of `prefix` count.
void count_digits(std::span<const float> values, Digit digit, uint32_t prefix,
                  Histogram& histogram) {
    const uint32_t above = digit.shift + digit.bits;
    const uint32_t mask = (1U << digit.bits) - 1;
    for (const float value : values) {
        const uint32_t key = kernels::magnitude_key(value);
        if (key >> above == prefix >> above) ++histogram[(key >> digit.shift) & mask];
    }
}

// count(digit, prefix) returns the histogram of one digit.
template <typename Count>
Cut radix_cut(size_t k, Count count) {
    Cut cut{0, k};
    for (const Digit digit : kDigits) {
        const Histogram histogram = count(digit, cut.key);
        size_t bin = (size_t{1} << digit.bits) - 1;
        while (bin > 0 && histogram[bin] < cut.ties) cut.ties -= histogram[bin--];
        cut.key |= static_cast<uint32_t>(bin) << digit.shift;
    }
    return cut;
}

Entries select_by_radix(Parts parts, size_t k, kernels::WorkerPool& pool) {
    Cut cut = find_cut(parts, k, pool);
    Entries chosen;
    chosen.reserve(k);
    // In order, because the first ties count.
    for (const Piece& piece : pieces_of(parts))
        scan_tiles(piece, std::max(cut.key, 1U),
                   [&](const uint32_t* indices, const float* values, size_t count) {
                       if (cut.key == 0) return chosen.append(indices, values, count);
                       for (size_t i = 0; i < count; ++i) {
                           if (kernels::magnitude_key(values[i]) == cut.key) {
                               if (cut.ties == 0) continue;
                               --cut.ties;
                           }
                           chosen.push_back(indices[i], values[i]);
                       }
                   });
    return chosen;
}

// Below this size, a sample costs more than it saves.
constexpr size_t kSampledMin = size_t{1} << 15;
constexpr size_t kLine = 16;  // floats of a cache line, which are read together
constexpr size_t kSampleLinesMax = 8192;

// Samples lines at nearly even distances. Each line is shifted a little, so that the sample does
// not follow a period of the vector.
std::vector<float> sample_of(Parts parts, size_t size) {
    const size_t lines = std::min(size / kLine / 64, kSampleLinesMax);
    const size_t stride = size / lines;
    std::vector<float> sample;
    sample.reserve(lines * kLine);
    size_t part_begin = 0;
    size_t part = 0;
    for (size_t line = 0; line < lines; ++line) {
        const size_t off = (line * 0x9E3779B1U >> 7U) % (stride - kLine);
        const size_t at = line * stride + off;
        while (at >= part_begin + parts[part].size()) part_begin += parts[part++].size();
        const auto rest = parts[part].subspan(at - part_begin);
        sample.insert(sample.end(), rest.begin(),
                      rest.begin() + static_cast<std::ptrdiff_t>(std::min(kLine, rest.size())));
    }
    return sample;
}

// Returns a key that a little more than k elements should reach. Returns 0 if no sample can tell.
uint32_t guess_key(Parts parts, size_t size, size_t k) {
    if (size < kSampledMin || k > size / 4) return 0;
    const std::vector<float> sample = sample_of(parts, size);
    const double expected =
        static_cast<double>(k) * static_cast<double>(sample.size()) / static_cast<double>(size);
    // A margin of six deviations of independent samples. The samples of one line are not
    // independent.
    const auto rank = static_cast<size_t>(expected + 6 * std::sqrt(expected) + 16);
    const Cut cut = find_cut(sample, rank);
    if (cut.key == 0) return 1;
    const auto reached =
        static_cast<size_t>(std::count_if(sample.begin(), sample.end(), [&](float value) {
            return kernels::magnitude_key(value) >= cut.key;
        }));
    // If very many elements are equal, collecting all of them would take much memory for nothing.
    return reached > 2 * rank + kLine ? 0 : cut.key;
}

}  // namespace

Entries at_least(Parts parts, uint32_t key_min, kernels::WorkerPool& pool) {
    const std::vector<Piece> pieces = pieces_of(parts);
    std::vector<Entries> found(pieces.size());
    pool.parallel_for(pieces.size(), 1, [&](size_t begin, size_t end) {
        for (size_t p = begin; p < end; ++p)
            scan_tiles(pieces[p], key_min,
                       [&](const uint32_t* indices, const float* values, size_t count) {
                           found[p].append(indices, values, count);
                       });
    });
    if (found.size() == 1) return std::move(found[0]);
    size_t size = 0;
    for (const Entries& entries : found) size += entries.size();
    Entries all;
    all.reserve(size);
    for (const Entries& entries : found)
        all.append(entries.indices.data(), entries.values.data(), entries.size());
    return all;
}

Cut find_cut(std::span<const float> values, size_t k) {
    return radix_cut(k, [&](Digit digit, uint32_t prefix) {
        Histogram histogram{};
        count_digits(values, digit, prefix, histogram);
        return histogram;
    });
}

Cut find_cut(Parts parts, size_t k, kernels::WorkerPool& pool) {
    const std::vector<Piece> pieces = pieces_of(parts);
    return radix_cut(k, [&](Digit digit, uint32_t prefix) {
        Histogram total{};
        std::mutex mutex;
        pool.parallel_for(pieces.size(), 1, [&](size_t begin, size_t end) {
            Histogram histogram{};
            for (size_t p = begin; p < end; ++p)
                count_digits(pieces[p].values, digit, prefix, histogram);
            const std::lock_guard lock(mutex);
            for (size_t bin = 0; bin < kBins; ++bin) total[bin] += histogram[bin];
        });
        return total;
    });
}

Split split_top_k(const Entries& entries, size_t k) {
    Cut cut = find_cut(entries.values, k);
    Split split;
    split.kept.reserve(std::min(k, entries.size()));
    for (size_t i = 0; i < entries.size(); ++i) {
        const uint32_t key = kernels::magnitude_key(entries.values[i]);
        if (key == 0) continue;
        bool keep = key > cut.key;
        if (key == cut.key && cut.ties > 0) {
            keep = true;
            --cut.ties;
        }
        (keep ? split.kept : split.rest).push_back(entries.indices[i], entries.values[i]);
    }
    return split;
}

Entries top_k(Parts parts, size_t k, kernels::WorkerPool& pool) {
    const size_t size = size_of(parts);
    if (k == 0 || size == 0) return {};
    const uint32_t guess = guess_key(parts, size, k);
    if (guess == 0) return select_by_radix(parts, k, pool);
    Entries candidates = at_least(parts, guess, pool);
    if (candidates.size() <= k) {
        // Exactly k elements, or all that are not zero.
        if (candidates.size() == k || guess == 1) return candidates;
        return select_by_radix(parts, k, pool);
    }
    Cut cut = find_cut(candidates.values, k);
    size_t kept = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        const uint32_t key = kernels::magnitude_key(candidates.values[i]);
        if (key < cut.key) continue;
        if (key == cut.key) {
            if (cut.ties == 0) continue;
            --cut.ties;
        }
        candidates.indices[kept] = candidates.indices[i];
        candidates.values[kept] = candidates.values[i];
        ++kept;
    }
    candidates.indices.resize(kept);
    candidates.values.resize(kept);
    return candidates;
}

Entries top_k(std::span<const float> vector, size_t k, kernels::WorkerPool& pool) {
    return top_k(Parts(&vector, 1), k, pool);
}

}  // namespace pace::sparse
