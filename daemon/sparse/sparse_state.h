// SparseState: what a worker (or a node for its workers) keeps from one sparse exchange to the
// next: its residual, and what adapts. An exchange changes neither until commit(): one that is
// undone and redone finds everything as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/sparse/compression_ratio.h"
#include "daemon/sparse/residual.h"

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

    // For sparse_all_reduce alone: the vector and the adaptation of the exchange that begins.
    std::span<float> begin() {
        next_ = adaptation_;
        return residual_.begin();
    }
    Adaptation& next() { return next_; }

    // The exchange that ended well counts. Without one, nothing happens.
    void commit() {
        if (!residual_.begun()) return;
        residual_.commit();
        adaptation_ = std::move(next_);
    }
    // It never was.
    void discard() { residual_.discard(); }

  private:
    Residual residual_;
    Adaptation adaptation_;
    Adaptation next_;
};

}  // namespace pace::sparse
