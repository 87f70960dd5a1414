#include "daemon/sparse/collection.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "daemon/sparse/top_k.h"

namespace pace::sparse {

Collection::Collection(std::span<float> gradient, UndoLog& log, ValueFormat format,
                       kernels::WorkerPool& pool, Form form)
    : gradient_(gradient),
      log_(log),
      format_(format),
      pool_(pool),
      form_(std::move(form)),
      is_formed_(log.division().blocks(), !form_) {}

std::span<float> Collection::formed(size_t block) {
    const Block range = division().block(block);
    if (!is_formed_[block]) form_(range.begin, range.end);
    is_formed_[block] = true;
    return gradient_.subspan(range.begin, range.length());
}

std::span<const float> Collection::values(size_t block) {
    return formed(block);
}

void Collection::form_all() {
    for (size_t block = 0; block < division().blocks(); ++block) (void)formed(block);
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
    log_.note_cut(block, std::move(before));
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
    log_.note(block, std::move(before));
}

void Collection::keep(size_t block, const Entries& discarded, size_t holders, size_t place) {
    if (log_.mode() != ResidualMode::global || discarded.empty()) return;
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

void Collection::settle() {
    form_all();
    log_.settle();
}

void Collection::finish(size_t block, std::span<const uint32_t> chosen) {
    log_.undo(block, chosen, formed(block));
}

}  // namespace pace::sparse
