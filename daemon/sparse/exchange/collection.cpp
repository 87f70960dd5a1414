#include "daemon/sparse/exchange/collection.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "daemon/sparse/wire/rounding.h"

namespace pace::sparse {

Collection::Collection(GradientStore& gradient, UndoLog& log, ValueFormat format)
    : gradient_(gradient), log_(log), format_(format), is_formed_(log.division().blocks(), false) {}

Block Collection::formed(size_t block) {
    const Block range = division().block(block);
    if (!is_formed_[block]) gradient_.form(range.begin, range.end);
    is_formed_[block] = true;
    return range;
}

std::span<const float> Collection::values(size_t block) {
    const Block range = formed(block);
    return gradient_.values().subspan(range.begin, range.length());
}

void Collection::form_all() {
    for (size_t block = 0; block < division().blocks(); ++block) (void)formed(block);
}

Entries Collection::cut(size_t block, size_t k) {
    const Block range = formed(block);
    return take(block, gradient_.top_k(range.begin, range.length(), k));
}

Entries Collection::take(size_t block, Entries chosen) {
    Entries sent;
    Entries before;
    base::LargeVector<float> remainders;
    sent.reserve(chosen.size());
    remainders.reserve(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
        const float value = rounded(chosen.values[i], format_);
        if (value == 0.0F) continue;  // rounding left nothing to send
        sent.push_back(chosen.indices[i], value);
        remainders.push_back(remainder_of(chosen.values[i], value));
    }
    gradient_.write(formed(block).begin, sent.indices, remainders);
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
    log_.note(block, gradient_.add(formed(block).begin, received));
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
    const size_t begin = formed(block).begin;
    log_.undo(block, chosen, [&](std::span<const uint32_t> indices, std::span<const float> values) {
        gradient_.write(begin, indices, values);
    });
}

}  // namespace pace::sparse
