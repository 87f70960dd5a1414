#include "service/pacectl/columns/nearest.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace pace::pacectl {

namespace {

// Longer words are not mistyped ones; this bounds the work.
constexpr size_t kBytesMax = 128;
constexpr size_t kPrefixBytesMin = 2;

std::string completed(std::string_view word, std::span<const std::string> candidates) {
    std::string found;
    if (word.size() < kPrefixBytesMin) return found;
    for (const std::string& candidate : candidates) {
        if (!candidate.starts_with(word)) continue;
        if (!found.empty()) return {};
        found = candidate;
    }
    return found;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before_last(b.size() + 1);
    std::vector<size_t> last(b.size() + 1);
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        before_last.swap(last);
        last.swap(row);
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
    }
    return row.back();
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
    if (word.size() > kBytesMax) return {};
    size_t fewest = std::max<size_t>(word.size() / 3, 1) + 1;
    std::string found;
    for (const std::string& candidate : candidates) {
        if (candidate.size() > kBytesMax) continue;
        const size_t edits = edit_distance(word, candidate);
        if (edits >= fewest) continue;
        fewest = edits;
        found = candidate;
    }
    return found.empty() ? completed(word, candidates) : found;
}

std::string meant_text(std::string_view word, std::span<const std::string> candidates) {
    const std::string meant = nearest(word, candidates);
    return meant.empty() ? std::string() : fmt::format("; did you mean '{}'?", meant);
}

}  // namespace pace::pacectl
