// Collection: a worker's gradient while it is cut, sent and added to, and the residual that remains
// of it (SparDL, section 3.2, Algorithm 1; other algorithms' residuals are cases of it).
//
// The paper keeps a copy of G beside the G that it works on, and takes the residual from the one or
// the other: at indices of the final result what was left of the block that was cut here (ξ),
// elsewhere the worker's own G. Here there is one vector. Whatever changes an element writes down
// its index and what it was (undo_log.h), which is as little as what travels; at the end the elements
// that did not make it into the result get back what they were. What remains in the vector is the
// residual.
//
//     Σ final + Σ_w residual_w = Σ_w G_w       at every index, in mode `global`
//
// because at an index of the result every value is either in the result or in some ξ, and at any
// other each worker has its own G.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "daemon/sparse/division.h"
#include "daemon/sparse/entries.h"
#include "daemon/sparse/gradient_store.h"
#include "daemon/sparse/options.h"
#include "daemon/sparse/undo_log.h"

namespace pace::sparse {

class Collection {
  public:
    // `gradient` is where G goes, division().count() elements that the caller owns; it becomes the
    // residual. Each block is formed when it is first needed, so that it is in the caches when it is
    // cut, and the last ones while the first are under way. `log`, which is empty, says how it is
    // divided and what is kept.
    Collection(GradientStore& gradient, UndoLog& log, ValueFormat format);

    const Division& division() const { return log_.division(); }
    // The block's elements as they are now, of a gradient on the host.
    std::span<const float> values(size_t block);
    bool is_on_host() const { return !gradient_.values().empty(); }
    // Of the memory that it is in.
    base::Result<> status() const { return gradient_.status(); }
    // Forms what is not formed yet.
    void form_all();

    // Takes the top k of a block out of it and returns them as they travel (Algorithm 1, lines 7
    // and 8); what rounding takes away stays. At most once per block.
    Entries cut(size_t block, size_t k);
    // The same of a choice that the caller made among values(block).
    Entries take(size_t block, Entries chosen);

    // Adds what was received to a block that is still to be cut (line 9).
    void add(size_t block, const Entries& received);

    // Puts back values that `holders` workers alike hold and discard; this one is number `place` of
    // them. Each keeps an equal share, where that is exact (a power of two), else each entry goes
    // whole to one of them in turn: the paper's d-th parts do not add up in floating point.
    void keep(size_t block, const Entries& discarded, size_t holders, size_t place);

    // From here on nothing is taken, added or kept that could be in the result, and everything is
    // formed: said before the first message without which no worker can have the result.
    void settle();

    // `chosen` are the block's indices in the final result (lines 12 to 14). Once per block, the
    // last.
    void finish(size_t block, std::span<const uint32_t> chosen);

  private:
    // Where the block is.
    Block formed(size_t block);

    GradientStore& gradient_;
    UndoLog& log_;
    ValueFormat format_;
    std::vector<bool> is_formed_;  // by block
};

}  // namespace pace::sparse
