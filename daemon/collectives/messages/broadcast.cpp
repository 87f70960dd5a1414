#include "daemon/collectives/messages/broadcast.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/collectives/layout/layout.h"
#include "daemon/collectives/messages/slots.h"

namespace pace::collectives {

using base::Result;
using base::Task;

namespace {

// Nodes are numbered from the root. Number v > 0 receives from v less its lowest bit. It passes the
// bytes on to v + 2^k for each 2^k below that bit, the farthest node first.
Task<Result<>> tree_broadcast(Communicator& communicator, size_t root, std::span<std::byte> bytes) {
    const size_t nodes = communicator.size();
    const size_t v = (communicator.self() + nodes - root) % nodes;
    const size_t lowest = v == 0 ? std::bit_ceil(nodes) : v & (~v + 1);
    if (v != 0) {
        Operation received;
        communicator.post_receive(received, (v - lowest + root) % nodes, slot(Phase::broadcast, 0),
                                  bytes);
        communicator.note(co_await received.ended());
    }
    const size_t children_max = static_cast<size_t>(std::countr_zero(lowest));
    const std::unique_ptr<Operation[]> sent(new Operation[children_max]);
    for (size_t k = children_max; k-- > 0;) {
        const size_t child = v + (size_t{1} << k);
        if (child < nodes)
            communicator.post_send(sent[k], (child + root) % nodes, slot(Phase::broadcast, 0),
                                   bytes);
    }
    for (size_t k = 0; k < children_max; ++k) communicator.note(co_await sent[k].ended());
    co_return communicator.status();
}

size_t chunk_bytes_of(const BroadcastOptions& options, size_t bytes) {
    const size_t wanted =
        std::min(std::max(bytes / 64, options.chunk_bytes_min), options.chunk_bytes_max);
    return std::max(wanted / kCutBytes, size_t{1}) * kCutBytes;
}

// One execution of the chunked broadcast. Lane l takes chunks l, l + window, …
class ChunkedBroadcast {
  public:
    ChunkedBroadcast(Communicator& communicator, size_t root, std::span<std::byte> bytes,
                     const BroadcastOptions& options)
        : communicator_(communicator),
          source_(options.source),
          root_(root),
          bytes_(bytes),
          chunk_bytes_(chunk_bytes_of(options, bytes.size())),
          chunks_(chunk_count({0, bytes.size()}, chunk_bytes_)),
          window_(std::min(std::max<size_t>(1, options.window), chunks_)) {}

    Task<Result<>> run() {
        std::vector<Task<Result<>>> lanes;
        const bool is_root = communicator_.self() == root_;
        for (size_t lane = 0; lane < window_; ++lane)
            lanes.push_back(is_root ? root_lane(lane) : lane_of_others(lane));
        co_await base::when_all(std::move(lanes));
        co_return communicator_.status();
    }

  private:
    // Returns the node that receives chunk `c` from the root and passes it on. The other nodes take
    // turns.
    size_t relay(size_t c) const {
        const size_t nodes = communicator_.size();
        return (root_ + 1 + c % (nodes - 1)) % nodes;
    }

    std::span<std::byte> chunk(size_t c) const {
        const ByteRange range = chunk_of({0, bytes_.size()}, chunk_bytes_, c);
        return bytes_.subspan(range.begin, range.size());
    }

    std::span<std::byte> made_chunk(size_t c) const {
        const std::span<std::byte> made = chunk(c);
        if (source_) source_(chunk_of({0, bytes_.size()}, chunk_bytes_, c), made.data());
        return made;
    }

    Task<Result<>> root_lane(size_t lane) {
        Operation sent;
        for (size_t c = lane; c < chunks_ && !communicator_.aborted(); c += window_) {
            communicator_.post_send(sent, relay(c), slot(Phase::broadcast, c), made_chunk(c));
            communicator_.note(co_await sent.ended());
        }
        co_return communicator_.status();
    }

    Task<Result<>> lane_of_others(size_t lane) {
        const size_t self = communicator_.self();
        const size_t nodes = communicator_.size();
        Operation received;
        const std::unique_ptr<Operation[]> sent(new Operation[nodes]);
        for (size_t c = lane; c < chunks_ && !communicator_.aborted(); c += window_) {
            const size_t from = relay(c) == self ? root_ : relay(c);
            communicator_.post_receive(received, from, slot(Phase::broadcast, c), chunk(c));
            communicator_.note(co_await received.ended());
            if (relay(c) != self) continue;
            for (size_t step = 1; step < nodes; ++step) {
                const size_t node = (self + step) % nodes;
                if (node != root_)
                    communicator_.post_send(sent[node], node, slot(Phase::broadcast, c), chunk(c));
            }
            for (size_t node = 0; node < nodes; ++node)
                communicator_.note(co_await sent[node].ended());
        }
        co_return communicator_.status();
    }

    Communicator& communicator_;
    const std::function<void(ByteRange, std::byte*)>& source_;
    size_t root_;
    std::span<std::byte> bytes_;
    size_t chunk_bytes_;
    size_t chunks_;
    size_t window_;
};

}  // namespace

Task<Result<>> broadcast(Communicator& communicator, size_t root, std::span<std::byte> bytes,
                         BroadcastOptions options) {
    if (root >= communicator.size())
        co_return base::make_error(base::ErrorKind::invalid, "root is {} among {} nodes", root,
                                   communicator.size());
    if (communicator.aborted()) co_return communicator.status();
    if (bytes.empty()) co_return Result<>();
    const bool is_little = communicator.size() == 1 || bytes.size() <= options.small_bytes_max;
    if (is_little && options.source && communicator.self() == root)
        options.source({0, bytes.size()}, bytes.data());
    if (communicator.size() == 1) co_return Result<>();
    if (is_little) co_return co_await tree_broadcast(communicator, root, bytes);
    ChunkedBroadcast chunked(communicator, root, bytes, options);
    co_return co_await chunked.run();
}

}  // namespace pace::collectives
