#include "daemon/partial/agreement/quorum.h"

#include <algorithm>

#include "base/random.h"

namespace pace::partial {

base::Result<> check(const Quorum& quorum, size_t world) {
    if (quorum.kind == Quorum::Kind::count && (quorum.count == 0 || quorum.count > world))
        return base::make_error(base::ErrorKind::invalid,
                                "the quorum is {}; with {} workers choose 1 to {}", quorum.count,
                                world, world);
    return {};
}

bool is_counted(const Quorum& quorum) {
    return quorum.kind != Quorum::Kind::solo && quorum.kind != Quorum::Kind::majority;
}

size_t arrivals_needed(const Quorum& quorum, size_t living) {
    switch (quorum.kind) {
        case Quorum::Kind::solo:
        case Quorum::Kind::majority:
            return 1;
        case Quorum::Kind::majority_strict:
            return std::max<size_t>(1, (living + 1) / 2);
        case Quorum::Kind::count:
            return std::clamp<size_t>(quorum.count, 1, std::max<size_t>(1, living));
        case Quorum::Kind::all:
            break;
    }
    return std::max<size_t>(1, living);
}

Rank initiator(uint64_t seed, uint64_t round, std::span<const Rank> living) {
    // The two values are chained, so (seed, round) and (seed + 1, round - 1) have nothing in
    // common.
    const uint64_t key = base::Random(base::Random(seed).next() ^ round).next();
    const auto draw = [key](Rank rank) {
        return base::Random(key ^ base::Random(rank).next()).next();
    };
    Rank chosen = living.front();
    uint64_t highest = draw(chosen);
    for (const Rank rank : living.subspan(1)) {
        const uint64_t drawn = draw(rank);
        if (drawn < highest || (drawn == highest && rank > chosen)) continue;
        chosen = rank;
        highest = drawn;
    }
    return chosen;
}

}  // namespace pace::partial
