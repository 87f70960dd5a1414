#include <algorithm>
#include <utility>

#include "tests/world/world.h"

namespace pace::world {

// Leaves out ever smaller parts of the faults, for as long as the rest still goes wrong.
Plan shrunk(const Plan& plan, uint32_t tries) {
    Plan least = plan;
    size_t part = std::max<size_t>(1, least.faults.size() / 2);
    while (tries > 0 && !least.faults.empty()) {
        bool is_smaller = false;
        for (size_t begin = 0; begin < least.faults.size() && tries > 0; --tries) {
            Plan fewer = least;
            const auto first = fewer.faults.begin() + static_cast<ptrdiff_t>(begin);
            fewer.faults.erase(
                first, first + static_cast<ptrdiff_t>(std::min(part, fewer.faults.size() - begin)));
            if (run(fewer).wrongs.empty()) {
                begin += part;
            } else {
                least = std::move(fewer);
                is_smaller = true;
            }
        }
        if (!is_smaller && part == 1) break;
        if (!is_smaller) part = std::max<size_t>(1, part / 2);
    }
    return least;
}

}  // namespace pace::world
