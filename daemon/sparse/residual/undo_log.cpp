#include "daemon/sparse/residual/undo_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pace::sparse {

UndoLog::UndoLog(Division division, ResidualMode mode)
    : division_(division), mode_(mode), changed_(division.blocks()) {}

void UndoLog::note_cut(size_t block, Entries before) {
    if (mode_ != ResidualMode::global) changed_[block].mine = before.indices;
    note(block, std::move(before));
}

base::LargeVector<uint32_t> UndoLog::staying(const Changed& changed,
                                             std::span<const uint32_t> chosen) const {
    if (mode_ == ResidualMode::local) return changed.mine;
    base::LargeVector<uint32_t> both;
    std::set_intersection(chosen.begin(), chosen.end(), changed.mine.begin(), changed.mine.end(),
                          std::back_inserter(both));
    return both;
}

void UndoLog::undo(size_t block, std::span<const uint32_t> chosen, const Write& write) {
    const Changed changed = std::exchange(changed_[block], {});
    base::LargeVector<uint32_t> other_modes;
    if (mode_ != ResidualMode::global) {
        other_modes = staying(changed, chosen);
        chosen = other_modes;
    }
    for (auto run = changed.before.rbegin(); run != changed.before.rend(); ++run) {
        Entries back;
        back.reserve(run->size());
        size_t at = 0;
        for (size_t i = 0; i < run->size(); ++i) {
            const uint32_t index = run->indices[i];
            while (at < chosen.size() && chosen[at] < index) ++at;
            if (at == chosen.size() || chosen[at] != index) back.push_back(index, run->values[i]);
        }
        write(back.indices, back.values);
    }
}

void UndoLog::undo_all(std::span<const uint32_t> chosen, const WriteAt& write) {
    auto next = chosen.begin();
    base::LargeVector<uint32_t> of_block;
    for (size_t block = 0; block < division_.blocks(); ++block) {
        const Block range = division_.block(block);
        of_block.clear();
        for (; next != chosen.end() && *next < range.end; ++next)
            of_block.push_back(*next - static_cast<uint32_t>(range.begin));
        undo(block, of_block,
             [&](std::span<const uint32_t> indices, std::span<const float> values) {
                 write(range.begin, indices, values);
             });
    }
}

}  // namespace pace::sparse
