// GpuCard: what a node tells the others at the beginning of a sum that may go from GPU to GPU.
// Every node decides by all cards, so all decide alike: which communicator the sum uses, or that it
// goes by way of the hosts.
//
// A communicator is made beside the exchanges, which go by way of the hosts until all nodes have
// it. A node that has lost its communicator (it was restarted, or an exchange failed) does not name
// it any more. Then no communicator is common, and another one is made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/result.h"
#include "daemon/device/nccl/gpu_communicator.h"

namespace pace::daemon {

// If a node has more GPUs in one exchange, the sum goes by way of the hosts.
inline constexpr size_t kGpusPerNodeMax = 16;
// Communicators that a card names. There may be several, as the same nodes may meet with other GPUs
// of the others.
inline constexpr size_t kKnownPerCardMax = 4;

struct GpuCard {
    struct Known {
        uint64_t serial = 0;  // not 0
        bool ready = false;
        bool operator==(const Known&) const = default;
    };

    bool able = false;  // its members' buffers are all on GPUs, and nothing else prevents the sum
    // The GPUs of its members, by rank. If one is there twice, NCCL would refuse.
    std::vector<base::cuda::CUuuid> boards;
    std::vector<Known> known;              // its communicators of these nodes and these GPUs
    std::optional<device::GroupId> fresh;  // from the first node: for a communicator to be made
};

inline constexpr size_t kCardBytes =
    16 + kGpusPerNodeMax * 16 + kKnownPerCardMax * 16 + sizeof(device::GroupId);
using GpuCardBytes = std::array<std::byte, kCardBytes>;

// A card that has more than fits is written as not able.
GpuCardBytes bytes_of(const GpuCard& card);
// ErrorKind::corrupt.
base::Result<GpuCard> card_of(const GpuCardBytes& bytes);

struct GpuVerdict {
    enum class Way : uint8_t {
        hosts,  // by way of the hosts; nothing is to be done
        wait,   // hosts; a communicator is being made
        lacks,  // hosts; no communicator is common, and the first node has sent no id for one
        make,   // hosts; a communicator is to be made, with the first card's id
        use,
    };
    Way way = Way::hosts;
    uint64_t serial = 0;  // use: of which communicator
    bool operator==(const GpuVerdict&) const = default;
};

// Decides by all nodes' cards, in node order.
GpuVerdict verdict_of(const std::vector<GpuCard>& cards);

}  // namespace pace::daemon
