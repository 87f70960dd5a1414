#include "tally.h"

#include <algorithm>
#include <cmath>

namespace pace::storms {

namespace {

constexpr size_t kRow = 2 * size_t{Tally::kRanks};

float factor_at(size_t element) {
    return static_cast<float>(1 + (element / kRow) % 5);
}

}  // namespace

void Tally::write(std::span<float> data, uint32_t rank, uint64_t step) {
    clear(data);
    for (size_t row = 0; row < data.size(); row += kRow) {
        const size_t steps = row + kRanks + rank;
        if (row + rank < data.size()) data[row + rank] = factor_at(row);
        if (steps < data.size()) data[steps] = factor_at(row) * static_cast<float>(step);
    }
}

void Tally::clear(std::span<float> data) {
    std::ranges::fill(data, 0.0F);
}

Tally Tally::read(std::span<const float> data, std::string& wrong) {
    Tally tally;
    for (size_t i = 0; i < data.size() && wrong.empty(); ++i) {
        const float expected = data[i % kRow] * factor_at(i);
        if (data[i] != expected || data[i] < 0 || data[i] != std::floor(data[i]))
            wrong = "element " + std::to_string(i) + " is " + std::to_string(data[i]) + ", not " +
                    std::to_string(expected) + ", a whole number, as the first row says";
    }
    if (!wrong.empty()) return tally;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        tally.counts_.at(rank) = static_cast<uint64_t>(data[rank]);
        tally.steps_.at(rank) = static_cast<uint64_t>(data[kRanks + rank]);
    }
    return tally;
}

uint32_t Tally::ranks() const {
    uint32_t ranks = 0;
    for (uint32_t rank = 0; rank < kRanks; ++rank)
        if (count(rank) != 0) ranks |= 1U << rank;
    return ranks;
}

std::string Tally::text() const {
    std::string text;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        if (count(rank) == 0 && steps(rank) == 0) continue;
        if (!text.empty()) text += ',';
        text += std::to_string(rank) + ":" + std::to_string(count(rank)) + ":" +
                std::to_string(steps(rank));
    }
    return text.empty() ? "-" : text;
}

}  // namespace pace::storms
