// GpuCard: what a node tells the others at the beginning of a sum that may go from GPU to GPU. Each decides by all cards, and so all
// decide alike: over which communicator it goes, or by way of the hosts.
//
// A communicator is made beside the exchanges, which go by way of the hosts until all nodes have it. A node that has lost its own
// (it began anew, or an exchange failed) does not name it any more; then none is common, and another one is made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/cuda_driver.h"
#include "base/result.h"
#include "daemon/device/gpu_communicator.h"

namespace pace::daemon {

// Of a node that has more in one exchange, the sums go by way of the hosts.
inline constexpr size_t kGpusPerNodeMax = 16;
// Communicators that a card names: the same nodes may meet with other GPUs of the others.
inline constexpr size_t kKnownPerCardMax = 4;

struct GpuCard {
    struct Known {
        uint64_t serial = 0;  // not 0
        bool ready = false;
        bool operator==(const Known&) const = default;
    };

    bool able = false;  // its members' buffers are all on GPUs, and nothing else hinders
    std::vector<base::cuda::CUuuid> gpus;  // those, by rank
    std::vector<Known> known;              // its communicators of these nodes and of its GPUs
    std::optional<device::GroupId> fresh;  // of the first node: for one that is to be made
};

inline constexpr size_t kCardBytes =
    16 + kGpusPerNodeMax * 16 + kKnownPerCardMax * 16 + sizeof(device::GroupId);
using GpuCardBytes = std::array<std::byte, kCardBytes>;

// What has more than fits is told as not able.
GpuCardBytes bytes_of(const GpuCard& card);
// Errors: corrupt.
base::Result<GpuCard> card_of(const GpuCardBytes& bytes);

struct GpuVerdict {
    enum class Way : uint8_t {
        hosts,  // and nothing is to be done
        wait,   // by way of the hosts; a communicator is being made
        lacks,  // the same; none is common, and the first node has sent no number for one
        make,   // the same; one is to be made, of the first card's number
        use,
    };
    Way way = Way::hosts;
    uint64_t serial = 0;  // use: which
    bool operator==(const GpuVerdict&) const = default;
};

// Of all nodes' cards, in node order.
GpuVerdict verdict_of(const std::vector<GpuCard>& cards);

}  // namespace pace::daemon
