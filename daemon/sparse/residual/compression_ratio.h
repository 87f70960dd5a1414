// CompressionRatio: adapts B-SAG's h (SparDL, Algorithm 2). h is the number of entries that a
// worker sends to the other teams. The aim is that about L entries remain after the sum.
//
// The prose of section 3.3 swaps the two directions. This class follows the pseudo-code. The step
// is kept if (N > L) XOR (step > 0), that is, if it already goes in the right direction. The second
// agreement in a row doubles the step. Otherwise the step is turned round and halved.
//
// Two bounds are not in the paper. h stays within [k/P, dk/P], where it makes sense. |step| stays
// within [1, dk/P - k/P]. Without this bound, a step could shrink to nothing, or grow for an hour
// against a bound of h, and would never be of use again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pace::sparse {

class CompressionRatio {
  public:
    CompressionRatio() = default;
    // `L` = dk/P is the size to which a block is cut. `teams` = d.
    CompressionRatio(size_t L, size_t teams)
        : h_max_(static_cast<double>(L)),
          h_min_(std::min(h_max_, std::max(1.0, std::round(h_max_ / static_cast<double>(teams))))),
          h_(h_min_),
          // 0.01 · k(d - 1)/P
          step_(std::max(
              1.0, 0.01 * h_max_ * static_cast<double>(teams - 1) / static_cast<double>(teams))) {}

    size_t h() const { return static_cast<size_t>(std::lround(h_)); }
    double step() const { return step_; }

    // Adapts h after an exchange in which `N` entries were there before the cut to L (lines 3 to
    // 12).
    void adjust(size_t N) {
        const bool too_many = static_cast<double>(N) > h_max_;
        if (too_many != (step_ > 0)) {
            if (flag_) step_ *= 2;
            flag_ = !flag_;
        } else {
            step_ *= -0.5;
            flag_ = false;
        }
        const double size = std::clamp(std::abs(step_), 1.0, std::max(1.0, h_max_ - h_min_));
        step_ = std::copysign(size, step_);
        h_ = std::clamp(h_ + step_, h_min_, h_max_);
    }

  private:
    double h_max_ = 0;  // dk/P = L
    double h_min_ = 0;  // k/P
    double h_ = 0;
    double step_ = 1;
    bool flag_ = false;
};

}  // namespace pace::sparse
