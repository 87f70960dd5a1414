#include "daemon/families/rounds/told_round.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "daemon/collectives/layout/layout.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using partial::RoundOutcome;
using partial::Verdict;

namespace {

struct ToldHeader {
    uint64_t verdict = 0;
    double divisor = 1.0;
};

}  // namespace

size_t told_round_bytes(const partial::Roster& roster) {
    const size_t bytes =
        sizeof(ToldHeader) + partial::kTermsBytes + roster.workers() * sizeof(uint32_t);
    return (bytes + collectives::kCutBytes - 1) / collectives::kCutBytes * collectives::kCutBytes;
}

std::vector<std::byte> write(const ToldRound& told, const partial::Roster& roster) {
    const ToldHeader header{static_cast<uint64_t>(told.outcome.verdict), told.outcome.divisor};
    std::vector<std::byte> bytes(told_round_bytes(roster));
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (told.terms) {
        const std::vector<std::byte> terms = partial::write(*told.terms);
        std::copy(terms.begin(), terms.end(), bytes.begin() + sizeof(header));
    }
    std::byte* out = bytes.data() + sizeof(header) + partial::kTermsBytes;
    for (const partial::Snapshot& snapshot : partial::snapshots_of(roster, told.outcome))
        for (const uint32_t given : snapshot) {
            std::memcpy(out, &given, sizeof(given));
            out += sizeof(given);
        }
    return bytes;
}

Result<ToldRound> read_told_round(const partial::Roster& roster,
                                  std::span<const std::byte> bytes_untrusted) {
    ToldHeader header;
    const auto corrupt = [] {
        return base::make_error(ErrorKind::corrupt, "a peer's account of a round does not parse");
    };
    if (bytes_untrusted.size() != told_round_bytes(roster)) return corrupt();
    std::memcpy(&header, bytes_untrusted.data(), sizeof(header));
    if (header.verdict > static_cast<uint64_t>(Verdict::nothing) || !(header.divisor >= 1.0) ||
        !std::isfinite(header.divisor))
        return corrupt();
    const std::byte* in = bytes_untrusted.data() + sizeof(header) + partial::kTermsBytes;
    std::vector<partial::Snapshot> snapshots;
    for (const auto& ranks : roster.nodes) {
        partial::Snapshot& snapshot = snapshots.emplace_back(ranks.size());
        for (uint32_t& given : snapshot) {
            std::memcpy(&given, in, sizeof(given));
            in += sizeof(given);
        }
    }
    ToldRound told;
    told.outcome = partial::outcome_of(roster, snapshots, header.divisor);
    told.outcome.verdict = static_cast<Verdict>(header.verdict);
    PACE_TRY_ASSIGN(
        terms, partial::read_terms(bytes_untrusted.subspan(sizeof(header), partial::kTermsBytes)));
    if (!terms.layout.segments().empty()) told.terms = std::move(terms);
    if (told.outcome.verdict == Verdict::sum && !told.terms) return corrupt();
    return told;
}

}  // namespace pace::daemon
