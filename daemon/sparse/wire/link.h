// Link: the costs of moving data between two nodes in the α-β model.
#pragma once

namespace pace::sparse {

struct Link {
    double alpha_s = 50e-6;           // of a message
    double beta_s_per_byte = 8.5e-9;  // of a byte; this is 1 Gbit/s

    bool operator==(const Link&) const = default;
};

// Measurements are clamped to these bounds, from shared memory to a slow network. Beyond the
// bounds, the clock was measured and not the link.
inline constexpr Link kLinkBest{1e-7, 1e-12};
inline constexpr Link kLinkWorst{1e-1, 1e-5};

}  // namespace pace::sparse
