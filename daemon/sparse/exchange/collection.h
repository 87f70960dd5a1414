// Collection: a worker's gradient while it is cut, sent and added to, and the residual that remains
// of the gradient (SparDL, section 3.2, Algorithm 1). The residuals of the other algorithms are
// special cases.
//
// The paper works on G and keeps a copy of G. At indices of the final result, the paper's residual
// is what was left of the block that was cut here (ξ). Elsewhere the residual is the worker's own
// G, from the copy. This class has one vector. Each change of an element notes its index and its
// old value (undo_log.h). The notes take as little memory as the messages. At the end, the elements
// that are not in the result get their old values back. What remains in the vector is the residual.
//
//     Σ final + Σ_w residual_w = Σ_w G_w       at every index, in mode `global`
//
// The reason: at an index of the result, every value is either in the result or in some ξ. At any
// other index, each worker has its own G.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "daemon/sparse/residual/gradient_store.h"
#include "daemon/sparse/residual/undo_log.h"
#include "daemon/sparse/wire/division.h"
#include "daemon/sparse/wire/entries.h"
#include "daemon/sparse/wire/options.h"

namespace pace::sparse {

class Collection {
  public:
    // `gradient` is the memory for G. It has division().count() elements, belongs to the caller and
    // becomes the residual. Each block is formed when it is first needed, so that it is in the
    // caches when it is cut. The last blocks are formed while the first ones are under way. `log`
    // is empty. It says how the vector is divided and what is kept.
    Collection(GradientStore& gradient, UndoLog& log, ValueFormat format);

    const Division& division() const { return log_.division(); }
    // The block's present elements, for a gradient on the host.
    std::span<const float> values(size_t block);
    bool is_on_host() const { return !gradient_.values().empty(); }
    // The status of the memory that holds the gradient.
    base::Result<> status() const { return gradient_.status(); }
    // Forms the blocks that are not formed yet.
    void form_all();

    // Takes the top k of a block out of the block and returns them as they travel (Algorithm 1,
    // lines 7 and 8). What rounding takes away stays in the block. At most once per block.
    Entries cut(size_t block, size_t k);
    // Does the same with a choice that the caller made among values(block).
    Entries take(size_t block, Entries chosen);

    // Adds received entries to a block that is still to be cut (line 9).
    void add(size_t block, const Entries& received);

    // Puts back values that `holders` workers hold alike and discard. This worker is number `place`
    // of them. If `holders` is a power of two, each worker keeps an equal share, which is exact.
    // Otherwise each entry goes whole to one of the workers in turn, because the paper's d-th parts
    // do not add up in floating point.
    void keep(size_t block, const Entries& discarded, size_t holders, size_t place);

    // Declares that nothing that could be in the result is taken, added or kept from here on. Also
    // forms all blocks. Called before the first message without which no worker can have the
    // result.
    void settle();

    // Finishes a block. `chosen` are the block's indices in the final result (lines 12 to 14).
    // Called once per block, as the last call for it.
    void finish(size_t block, std::span<const uint32_t> chosen);

  private:
    // Forms the block if necessary, and returns its range.
    Block formed(size_t block);

    GradientStore& gradient_;
    UndoLog& log_;
    ValueFormat format_;
    std::vector<bool> is_formed_;  // by block
};

}  // namespace pace::sparse
