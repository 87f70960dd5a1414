// SparseState: the state that a worker (or a node for its workers) keeps from one sparse exchange
// to the next: its residual, and what adapts. An exchange changes neither until commit(). So an
// exchange that is undone and redone finds everything as it was.
//
//            sparse_all_reduce()
//     idle ───────────────────────▶ begun ── ended well ──▶ ended ── commit() ──▶ idle
//                                     └─ ended with an error, conclude() ─▲
//
// discard() leads back to idle from every state, and so does the next exchange.
//
// An exchange that ended with an error here may have been completed elsewhere, if a node died in
// its last messages. This node's contribution is then in the result that the other nodes have. The
// residual must become what it would be if this node had received the result too. conclude() makes
// this residual from the result. Until conclude() or discard(), the memory of what travelled is
// held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/sparse/residual/compression_ratio.h"
#include "daemon/sparse/residual/residual.h"
#include "daemon/sparse/residual/undo_log.h"

namespace pace::sparse {

// Ok-Topk's thresholds and regions (ok_topk.h).
struct OkTopkState {
    uint64_t iteration = 0;
    float local_threshold = 0;
    float global_threshold = 0;
    std::vector<uint32_t> boundaries;  // P + 1 of them
};

// What adapts. All workers make equal choices because they have equal Adaptations. So an Adaptation
// begins anew whenever the workers may not have the same one.
struct Adaptation {
    // The exchange that the Adaptation was made for.
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

    // Makes the changes of the exchange that ended well permanent. Does nothing if there is no such
    // exchange.
    void commit();
    // Undoes the exchange: the state is as if the exchange had never begun.
    void discard();
    // Concludes an exchange that ended with an error here and was completed elsewhere with this
    // `result`. `result` is laid out as `layout` and has this exchange's elements.
    // `hidden_untrusted` is the other node's Report::hidden. After this call, commit() makes the
    // residual what it would be if the exchange had ended well here, bit for bit. What adapts
    // begins anew, as it must on all nodes (Options::view). Takes one pass over the result. If the
    // exchange ended well here too, nothing changes.
    //
    // Returns ErrorKind::invalid if there is no exchange. Also returns it if the exchange ended
    // before this node had sent all that a result needs: then no node can have a result. Returns
    // ErrorKind::corrupt if the hidden list does not fit the result. The state is unchanged after
    // these errors. If the gradient is in a device and the device fails, returns the device's
    // error. The state must then be discarded.
    base::Result<> conclude(const collectives::Layout& layout, std::span<const std::byte> result,
                            std::span<const std::byte> hidden_untrusted);

    // begin(), log(), next() and end() are for sparse_all_reduce alone. begin() begins an exchange
    // with its log. It returns the vector of the exchange if the vector is on the host.
    // `leaves_nothing` means that the exchange makes all elements of the vector zero. end() is
    // called when the exchange has ended well.
    std::span<float> begin(UndoLog log, bool leaves_nothing = false);
    UndoLog& log() { return log_; }
    Adaptation& next() { return next_; }
    void end();

  private:
    Residual residual_;
    UndoLog log_;
    bool has_ended_ = false;
    bool leaves_nothing_ = false;
    Adaptation adaptation_;
    Adaptation next_;
};

}  // namespace pace::sparse
