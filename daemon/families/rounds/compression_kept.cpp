// Compression: what is told of what it keeps back.
#include <algorithm>

#include "daemon/families/rounds/compression.h"

namespace pace::daemon {

bool Compression::is_open() const {
    return std::any_of(states_.begin(), states_.end(),
                       [](const auto& entry) { return entry.second->residual().begun(); });
}

bool Compression::owes() const {
    if (handover_.is_leaving()) return false;
    return !states_.empty() || !inherited_.empty() || handover_.is_taking();
}

std::optional<KeptBack> Compression::kept_back(const Worker& worker) const {
    const bool is_first = is_first_here(worker);
    if (!is_top_k() || (!is_flat() && !is_first)) return std::nullopt;
    KeptBack kept;
    for (const auto& [key, state] : states_) {
        const sparse::Residual& residual = state->residual();
        if (key.owner != owner_of(worker) || residual.exchanges_kept() == 0) continue;
        kept.bytes += residual.count() * sizeof(float);
        kept.exchanges = std::max(kept.exchanges, residual.exchanges_kept());
    }
    if (!is_first) return kept;
    for (const Debt& debt : inherited_) {
        kept.bytes += debt.values.size_bytes();
        kept.exchanges = std::max<uint64_t>(kept.exchanges, 1);
    }
    return kept;
}

}  // namespace pace::daemon
