#include "service/simulator/timing/travel.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pace::simulator {

namespace {

using controller::Compression;

constexpr double kHalfBytes = 2;
constexpr double kValueBytes = 4;
// For each number: the daemon's own guess (daemon/sparse/algorithms/cost_model.h).
constexpr double kChoosingS = 1e-9;

// The link for which Pace decides between sparse and dense (daemon/sparse/wire/link.h).
constexpr double kNominalMessageS = 50e-6;
constexpr double kNominalByteS = 8.5e-9;

double nominal_s(const Travel& travel) {
    return travel.hops * kNominalMessageS + travel.bytes * kNominalByteS + travel.choosing_s;
}

double pair_bytes(double density) {
    return kValueBytes + (2 + std::log2(1 / density)) / 8;
}

Travel spardl(double numbers, double share, size_t nodes, double density) {
    Travel travel;
    const double k = std::max(1.0, numbers * density);
    travel.bytes = 2 * k * share * pair_bytes(density);
    travel.hops = 2.0 * static_cast<double>(std::bit_width(nodes - 1));
    travel.choosing_s = numbers * kChoosingS;
    travel.is_sparse = true;
    return travel;
}

}  // namespace

Travel travel_of(const Scenario& scenario, size_t nodes, const Candidate& candidate) {
    const double share = static_cast<double>(nodes - 1) / static_cast<double>(nodes);
    const double numbers = scenario.bytes / scenario.element_bytes;
    Travel dense;
    dense.bytes = 2 * share * scenario.bytes;
    if (candidate.compression == Compression::off) return dense;
    if (!is_top_k(candidate.compression)) {
        dense.bytes = 2 * share * std::min(scenario.bytes, numbers * kHalfBytes);
        return dense;
    }
    const Travel sparse = spardl(numbers, share, nodes, candidate.density);
    return nominal_s(dense) <= nominal_s(sparse) ? dense : sparse;
}

}  // namespace pace::simulator
