// SparseState: what a worker (or a node for its workers) keeps from one sparse exchange to the
// next: its residual, and what adapts. An exchange changes neither until commit(): one that is
// undone and redone finds everything as it was.
//
//            sparse_all_reduce()
//     idle ───────────────────────▶ begun ── ended well ──▶ ended ── commit() ──▶ idle
//                                     └─ ended with an error, conclude() ─▲
//     discard() leads back to idle from everywhere; so does, for all that counts, the next exchange.
//
// An exchange that ended with an error here may have been completed elsewhere, when a node dies in
// its last messages. Then this node's contribution is in the result that the others have, and the
// residual must become what it would be if this node had received it too: conclude() does that from
// the result. Until then the memory of what travelled is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"
#include "daemon/sparse/compression_ratio.h"
#include "daemon/sparse/residual.h"
#include "daemon/sparse/undo_log.h"

namespace pace::sparse {

// Ok-Topk's thresholds and regions; ok_topk.h says what they are.
struct OkTopkState {
    uint64_t iteration = 0;
    float local_threshold = 0;
    float global_threshold = 0;
    std::vector<uint32_t> boundaries;  // P + 1 of them
};

// Equal choices at all workers rest on it, so it begins anew whenever they may not have the same.
struct Adaptation {
    // What it was made for.
    uint64_t view = 0;
    size_t nodes = 0;
    size_t teams = 0;
    size_t count = 0;
    double density = 0;

    CompressionRatio ratio;
    OkTopkState ok_topk;
};

class SparseState {
  public:
    explicit SparseState(size_t count = 0) : residual_(count) {}
    explicit SparseState(Residual residual) : residual_(std::move(residual)) {}

    Residual& residual() { return residual_; }
    const Residual& residual() const { return residual_; }

    // The exchange that ended well counts. Without one, nothing happens.
    void commit();
    // It never was.
    void discard();
    // After an error: the exchange was completed elsewhere with this `result`, laid out as `layout`,
    // of this exchange's elements; `hidden` is that node's Report::hidden. commit() then makes the
    // residual what it would be had the exchange ended well here, bit for bit; what adapts begins
    // anew, as it must everywhere (Options::view). One pass over the result. Of an exchange that
    // ended well here too, nothing changes.
    //
    // ErrorKind::invalid without an exchange, or if it ended before this node had sent all that a
    // result needs, so that nobody can have one; corrupt if `hidden` does not fit the result. The
    // state is as before then. What a device says, if the gradient is there and it fails: the state
    // is to be discarded then.
    base::Result<> conclude(const collectives::Layout& layout, std::span<const std::byte> result,
                            std::span<const std::byte> hidden_untrusted);

    // For sparse_all_reduce alone. The vector of the exchange that begins, if that is on the host, its
    // log, and what adapts; end() when it has ended well.
    std::span<float> begin(UndoLog log);
    UndoLog& log() { return log_; }
    Adaptation& next() { return next_; }
    void end();

  private:
    Residual residual_;
    UndoLog log_;
    bool has_ended_ = false;
    Adaptation adaptation_;
    Adaptation next_;
};

}  // namespace pace::sparse
