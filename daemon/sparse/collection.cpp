#include "daemon/sparse/collection.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "daemon/sparse/top_k.h"

namespace pace::sparse {

Collection::Collection(std::span<float> gradient, Division division, ValueFormat format,
                       ResidualMode mode, kernels::WorkerPool& pool, Form form)
    : gradient_(gradient),
      division_(division),
      format_(format),
      mode_(mode),
      pool_(pool),
      form_(std::move(form)),
      is_formed_(division.blocks(), !form_),
      changed_(division.blocks()) {}

std::span<float> Collection::formed(size_t block) {
    const Block range = division_.block(block);
    if (!is_formed_[block]) form_(range.begin, range.end);
    is_formed_[block] = true;
    return gradient_.subspan(range.begin, range.length());
}

std::span<const float> Collection::values(size_t block) {
    return formed(block);
}

void Collection::form_all() {
    for (size_t block = 0; block < division_.blocks(); ++block) (void)formed(block);
}

Entries Collection::cut(size_t block, size_t k) {
    return take(block, top_k(values(block), k, pool_));
}

Entries Collection::take(size_t block, Entries chosen) {
    const std::span<float> values = formed(block);
    Entries sent;
    Entries before;
    sent.reserve(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
        const float value = rounded(chosen.values[i], format_);
        if (value == 0.0F) continue;  // rounding left nothing to send
        sent.push_back(chosen.indices[i], value);
        values[chosen.indices[i]] = remainder_of(chosen.values[i], value);
    }
    if (sent.size() == chosen.size()) {
        before = std::move(chosen);
    } else {
        size_t at = 0;
        for (const uint32_t index : sent.indices) {
            while (chosen.indices[at] != index) ++at;
            before.push_back(index, chosen.values[at]);
        }
    }
    changed_[block].mine = sent.indices;
    changed_[block].before.push_back(std::move(before));
    return sent;
}

void Collection::add(size_t block, const Entries& received) {
    const std::span<float> values = formed(block);
    Entries before;
    before.indices = received.indices;
    before.values.resize(received.size());
    for (size_t i = 0; i < received.size(); ++i) {
        float& value = values[received.indices[i]];
        before.values[i] = value;
        value = sparse::add(value, received.values[i]);
    }
    changed_[block].before.push_back(std::move(before));
}

void Collection::keep(size_t block, const Entries& discarded, size_t holders, size_t place) {
    if (mode_ != ResidualMode::global || discarded.empty()) return;
    Entries share;
    if (std::has_single_bit(holders)) {
        share = discarded;
        for (float& value : share.values) value /= static_cast<float>(holders);
    } else {
        for (size_t i = 0; i < discarded.size(); ++i)
            if (discarded.indices[i] % holders == place)
                share.push_back(discarded.indices[i], discarded.values[i]);
    }
    add(block, share);
}

std::vector<uint32_t> Collection::final_indices(const Changed& changed,
                                                std::span<const uint32_t> chosen) const {
    if (mode_ == ResidualMode::local) return changed.mine;
    std::vector<uint32_t> both;
    std::set_intersection(chosen.begin(), chosen.end(), changed.mine.begin(), changed.mine.end(),
                          std::back_inserter(both));
    return both;
}

void Collection::finish(size_t block, std::span<const uint32_t> chosen) {
    Changed changed = std::exchange(changed_[block], {});
    std::vector<uint32_t> other_modes;
    if (mode_ != ResidualMode::global) {
        other_modes = final_indices(changed, chosen);
        chosen = other_modes;
    }
    const std::span<float> values = formed(block);
    for (auto run = changed.before.rbegin(); run != changed.before.rend(); ++run) {
        size_t at = 0;
        for (size_t i = 0; i < run->size(); ++i) {
            const uint32_t index = run->indices[i];
            while (at < chosen.size() && chosen[at] < index) ++at;
            if (at == chosen.size() || chosen[at] != index) values[index] = run->values[i];
        }
    }
}

}  // namespace pace::sparse
