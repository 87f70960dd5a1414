// Fuzzes another node's account of a round that this node missed. The first bytes are the members,
// and the others are the account. An accepted account can be told to other nodes.
#include <cstdlib>

#include "daemon/families/rounds/told_round.h"
#include "tests/fuzz/chunks.h"

namespace {

constexpr size_t kNodesMax = 4;

// There is a byte for each node: its number of workers.
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
    // Nearly all inputs have another size, and reading ends there. So the input is tried with the
    // right size, too.
    bytes.resize(pace::daemon::told_round_bytes(roster));
    const auto told = pace::daemon::read_told_round(roster, bytes);
    if (!told) return 0;
    const auto again = pace::daemon::write(*told, roster);
    if (!pace::daemon::read_told_round(roster, again)) std::abort();
    return 0;
}
