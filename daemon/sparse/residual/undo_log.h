// UndoLog: the old values of the elements that an exchange changed in a gradient. At the end, the
// elements that are not in the result get their old values back. What remains is the residual
// (collection.h).
//
// An exchange that ended with an error may have been completed by another node, with this node's
// contribution in the result. So the log outlives the exchange (in SparseState). undo() then
// concludes the exchange with the other node's chosen elements. This is exact from settle() on:
// what this node might still have changed is in no possible result. An algorithm settles before the
// first message without which no node can have the result. So a node that has the result proves
// that all nodes have settled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/sparse/wire/division.h"
#include "daemon/sparse/wire/entries.h"
#include "daemon/sparse/wire/options.h"

namespace pace::sparse {

class UndoLog {
  public:
    // An empty log, for an exchange in which every element is sent.
    UndoLog() : UndoLog(Division(0, 1, 1.0), ResidualMode::global) {}
    UndoLog(Division division, ResidualMode mode);

    const Division& division() const { return division_; }
    ResidualMode mode() const { return mode_; }

    // note() notes old values of elements of a block, before they are changed. note_cut() notes
    // those of the elements that this node takes out, at most once per block. Indices count from
    // the block's beginning.
    void note(size_t block, Entries before) { changed_[block].before.push_back(std::move(before)); }
    void note_cut(size_t block, Entries before);

    void settle() { is_settled_ = true; }
    bool is_settled() const { return is_settled_; }

    // Writes values at indices of a block.
    using Write =
        std::function<void(std::span<const uint32_t> indices, std::span<const float> values)>;
    // Writes values at indices of the block that begins at `begin`.
    using WriteAt = std::function<void(size_t begin, std::span<const uint32_t> indices,
                                       std::span<const float> values)>;

    // Gives elements of the block their old values back. `chosen` are the block's elements in the
    // result. These elements stay as they are. Forgets the block.
    void undo(size_t block, std::span<const uint32_t> chosen, const Write& write);
    // Does the same for all blocks. `chosen` has indices of the whole vector.
    void undo_all(std::span<const uint32_t> chosen, const WriteAt& write);

  private:
    struct Changed {
        std::vector<Entries> before;  // in the order of the changes
        // What was cut here. Empty in mode `global`, which does not need it.
        base::LargeVector<uint32_t> mine;
    };

    base::LargeVector<uint32_t> staying(const Changed& changed,
                                        std::span<const uint32_t> chosen) const;

    Division division_;
    ResidualMode mode_;
    bool is_settled_ = false;
    std::vector<Changed> changed_;  // by block
};

}  // namespace pace::sparse
