#include "daemon/sparse/wire/entries.h"

#include <algorithm>
#include <utility>

namespace pace::sparse {

Entries sum(const Entries& a, const Entries& b) {
    Entries out;
    out.reserve(a.size() + b.size());
    size_t i = 0;
    size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (a.indices[i] < b.indices[j]) {
            out.push_back(a.indices[i], a.values[i]);
            ++i;
        } else if (a.indices[i] > b.indices[j]) {
            out.push_back(b.indices[j], b.values[j]);
            ++j;
        } else {
            out.push_back(a.indices[i], add(a.values[i], b.values[j]));
            ++i;
            ++j;
        }
    }
    out.append(a.indices.data() + i, a.values.data() + i, a.size() - i);
    out.append(b.indices.data() + j, b.values.data() + j, b.size() - j);
    return out;
}

Entries sum_all(std::vector<Entries> lists) {
    if (lists.empty()) return {};
    for (size_t step = 1; step < lists.size(); step *= 2)
        for (size_t i = 0; i + step < lists.size(); i += 2 * step) {
            lists[i] = sum(lists[i], lists[i + step]);
            lists[i + step] = {};
        }
    return std::move(lists[0]);
}

size_t entries_of(const std::vector<Entries>& lists) {
    size_t count = 0;
    for (const Entries& list : lists) count += list.size();
    return count;
}

void drop_zeros(Entries& entries) {
    size_t kept = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
        if (entries.values[i] == 0.0F) continue;
        entries.indices[kept] = entries.indices[i];
        entries.values[kept] = entries.values[i];
        ++kept;
    }
    entries.indices.resize(kept);
    entries.values.resize(kept);
}

Entries slice(const Entries& entries, size_t begin, size_t end) {
    const auto first = std::lower_bound(entries.indices.begin(), entries.indices.end(), begin);
    const auto last = std::lower_bound(first, entries.indices.end(), end);
    Entries out;
    out.indices.assign(first, last);
    for (uint32_t& index : out.indices) index -= static_cast<uint32_t>(begin);
    const auto values = entries.values.begin() + (first - entries.indices.begin());
    out.values.assign(values, values + (last - first));
    return out;
}

void append_block(Entries& all, const Entries& block, size_t begin) {
    const size_t before = all.size();
    all.append(block.indices.data(), block.values.data(), block.size());
    for (size_t i = before; i < all.size(); ++i) all.indices[i] += static_cast<uint32_t>(begin);
}

}  // namespace pace::sparse
