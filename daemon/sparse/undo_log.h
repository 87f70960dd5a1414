// UndoLog: what the elements of a gradient were before an exchange changed them. At the end those
// that did not make it into the result get that back; what remains is the residual (collection.h).
//
// An exchange that ended with an error may have been completed by another node all the same, with
// this one's contribution in the result. The log outlives it (SparseState), and undo() concludes it
// with what the other chose. That is exact from settle() on: whatever this node might still have
// changed is not in the result, whichever it is. An algorithm settles before the first message
// without which nobody can have the result, so that whoever has it proves that all have settled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/sparse/division.h"
#include "daemon/sparse/entries.h"
#include "daemon/sparse/options.h"

namespace pace::sparse {

class UndoLog {
  public:
    // Of nothing: for an exchange in which everything goes.
    UndoLog() : UndoLog(Division(0, 1, 1.0), ResidualMode::global) {}
    UndoLog(Division division, ResidualMode mode);

    const Division& division() const { return division_; }
    ResidualMode mode() const { return mode_; }

    // Notes what elements of a block were, before they are changed; note_cut() those that this node
    // takes out, at most once per block. Indices count from the block's beginning.
    void note(size_t block, Entries before) { changed_[block].before.push_back(std::move(before)); }
    void note_cut(size_t block, Entries before);

    void settle() { is_settled_ = true; }
    bool is_settled() const { return is_settled_; }

    // Writes values at indices of a block.
    using Write =
        std::function<void(std::span<const uint32_t> indices, std::span<const float> values)>;
    // The same, of the block that begins there.
    using WriteAt = std::function<void(size_t begin, std::span<const uint32_t> indices,
                                       std::span<const float> values)>;

    // Gives elements of the block back what they were, but for those that stay as they are because
    // they are in the result, which `chosen` are. Forgets the block.
    void undo(size_t block, std::span<const uint32_t> chosen, const Write& write);
    // The same of all blocks, with indices of the whole vector.
    void undo_all(std::span<const uint32_t> chosen, const WriteAt& write);

  private:
    struct Changed {
        std::vector<Entries> before;  // in the order of the changes
        base::LargeVector<uint32_t>
            mine;  // what was cut here; not in mode `global`, which needs it not
    };

    base::LargeVector<uint32_t> staying(const Changed& changed,
                                        std::span<const uint32_t> chosen) const;

    Division division_;
    ResidualMode mode_;
    bool is_settled_ = false;
    std::vector<Changed> changed_;  // by block
};

}  // namespace pace::sparse
