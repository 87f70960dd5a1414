#include "daemon/collectives/messages/transfer.h"

#include <algorithm>
#include <memory>

#include "daemon/collectives/layout/layout.h"
#include "daemon/collectives/messages/slots.h"

namespace pace::collectives {

using base::Result;
using base::Task;

namespace {

// Both sides keep a ring of operations. Chunk c uses the place of chunk c - window once the
// operation of chunk c - window has ended.
template <typename Byte, typename Post>
Task<Result<>> transfer(Communicator& communicator, std::span<Byte> bytes, TransferOptions options,
                        Post post) {
    const ByteRange all{0, bytes.size()};
    const size_t chunk_bytes = std::max(options.chunk_bytes / kCutBytes, size_t{1}) * kCutBytes;
    const size_t window = std::max<size_t>(1, options.window);
    const size_t chunks = chunk_count(all, chunk_bytes);
    const std::unique_ptr<Operation[]> ring(new Operation[window]);
    for (size_t c = 0; c < chunks; ++c) {
        communicator.note(co_await ring[c % window].ended());
        const ByteRange range = chunk_of(all, chunk_bytes, c);
        post(ring[c % window], slot(Phase::transfer, c), bytes.subspan(range.begin, range.size()));
    }
    for (size_t i = 0; i < window; ++i) communicator.note(co_await ring[i].ended());
    co_return communicator.status();
}

}  // namespace

Task<Result<>> transfer_to(Communicator& communicator, size_t node,
                           std::span<const std::byte> bytes, TransferOptions options) {
    return transfer(communicator, bytes, options,
                    [&communicator, node](Operation& operation, uint32_t slot,
                                          std::span<const std::byte> chunk) {
                        communicator.post_send(operation, node, slot, chunk);
                    });
}

Task<Result<>> transfer_from(Communicator& communicator, size_t node, std::span<std::byte> bytes,
                             TransferOptions options) {
    return transfer(
        communicator, bytes, options,
        [&communicator, node](Operation& operation, uint32_t slot, std::span<std::byte> chunk) {
            communicator.post_receive(operation, node, slot, chunk);
        });
}

}  // namespace pace::collectives
