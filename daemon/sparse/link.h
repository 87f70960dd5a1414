// Link: what moving something between two nodes costs in the α-β model.
#pragma once

namespace pace::sparse {

struct Link {
    double alpha_s = 50e-6;           // a message
    double beta_s_per_byte = 8.5e-9;  // a byte; this is 1 Gbit/s

    bool operator==(const Link&) const = default;
};

// What measurements are clamped to: from shared memory to a slow road. Beyond it the clock, not the
// link, was measured.
inline constexpr Link kLinkBest{1e-7, 1e-12};
inline constexpr Link kLinkWorst{1e-1, 1e-5};

}  // namespace pace::sparse
