// What another node says of a round that this one missed: the first bytes are who takes part, the others its account. What is accepted
// can be told on.
#include <cstdlib>

#include "daemon/exchange/told_round.h"
#include "tests/fuzz/chunks.h"

namespace {

constexpr size_t kNodesMax = 4;

// A byte a node: how many workers it has.
pace::partial::Roster roster_of(std::span<const std::byte> bytes) {
    pace::partial::Roster roster;
    pace::partial::Rank rank = 0;
    for (const std::byte b : bytes) {
        auto& ranks = roster.nodes.emplace_back();
        for (unsigned i = 0; i < std::to_integer<unsigned>(b) % 5; ++i) ranks.push_back(rank++);
    }
    return roster;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    pace::fuzz::Bytes bytes = pace::fuzz::bytes_of(data, size);
    if (bytes.size() < kNodesMax) return 0;
    const auto roster = roster_of(std::span(bytes).first(kNodesMax));
    bytes.erase(bytes.begin(), bytes.begin() + kNodesMax);
    (void)pace::daemon::read_told_round(roster, bytes);
    // Nearly all inputs are of another size, at which reading ends.
    bytes.resize(pace::daemon::told_round_bytes(roster));
    const auto told = pace::daemon::read_told_round(roster, bytes);
    if (!told) return 0;
    const auto again = pace::daemon::write(*told, roster);
    if (!pace::daemon::read_told_round(roster, again)) std::abort();
    return 0;
}
