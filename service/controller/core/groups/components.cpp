#include "service/controller/core/groups/components.h"

#include <numeric>
#include <utility>

namespace pace::controller {

uint32_t components(uint32_t workers, const std::vector<std::vector<Rank>>& groups) {
    std::vector<Rank> parents(workers);
    std::iota(parents.begin(), parents.end(), Rank{0});
    const auto root_of = [&](Rank rank) {
        // Path halving: each step shortens the path for later calls.
        while (parents[rank] != rank) rank = parents[rank] = parents[parents[rank]];
        return rank;
    };
    uint32_t count = workers;
    for (const std::vector<Rank>& group : groups) {
        for (const Rank rank : group) {
            const Rank first = root_of(group.front());
            const Rank other = root_of(rank);
            if (std::exchange(parents[other], first) != first) --count;
        }
    }
    return count;
}

}  // namespace pace::controller
