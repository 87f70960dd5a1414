// Digests: what nodes must agree on before they exchange.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/members/request.h"
#include "daemon/runtime/mix.h"

namespace pace::daemon {

// The digest of types and counts, in order.
inline uint32_t digest_of(const std::vector<BufferPtr>& buffers) {
    uint64_t state = buffers.size();
    for (const BufferPtr& buffer : buffers)
        state = mix(mix(state, static_cast<uint64_t>(buffer->dtype)), buffer->count);
    return static_cast<uint32_t>(state);
}

// The digest of an average. The averages of a group become ready from the same end, and travel in
// the same pieces.
inline uint32_t digest_of(const std::vector<BufferPtr>& buffers, protocol::Order order) {
    const uint32_t digest = digest_of(buffers);
    if (order == protocol::Order::all_at_once) return digest;
    return static_cast<uint32_t>(mix(digest, static_cast<uint64_t>(order)));
}

// A digest of all that the workers of a round must agree on.
inline uint32_t check_of(const Request& request) {
    const uint64_t head = static_cast<uint64_t>(request.verb) | static_cast<uint64_t>(request.op)
                                                                    << 8U;
    return static_cast<uint32_t>(
        mix(mix(mix(request.digest, head), request.root), request.buffers.size()));
}

}  // namespace pace::daemon
