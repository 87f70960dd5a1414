#include "daemon/server/small_entries.h"

#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace pace::server {

HybridVector SmallEntries::pass(HybridVector update) {
    if (filter_ <= 0) return update;
    waiting_.add(update);
    waiting_.settle();
    const auto is_small = [this](float value) { return std::abs(value) < filter_; };
    if (waiting_.is_dense()) {
        std::vector<float> kept(waiting_.length(), 0.0F);
        std::vector<float> sent(waiting_.elements().begin(), waiting_.elements().end());
        for (size_t i = 0; i < sent.size(); ++i)
            if (is_small(sent[i])) kept[i] = std::exchange(sent[i], 0.0F);
        waiting_ = HybridVector::of(kept);
        return HybridVector::of(sent);
    }
    sparse::Entries kept;
    sparse::Entries sent;
    const sparse::Entries& all = waiting_.entries();
    for (size_t i = 0; i < all.size(); ++i) {
        if (all.values[i] == 0.0F) continue;
        (is_small(all.values[i]) ? kept : sent).push_back(all.indices[i], all.values[i]);
    }
    const size_t length = waiting_.length();
    waiting_ = HybridVector::of(length, std::move(kept));
    return HybridVector::of(length, std::move(sent));
}

}  // namespace pace::server
