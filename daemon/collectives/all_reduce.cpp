#include "daemon/collectives/all_reduce.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/collectives/direct_all_reduce.h"
#include "daemon/collectives/layout/flow.h"
#include "daemon/collectives/layout/zones.h"
#include "daemon/collectives/messages/slots.h"
#include "daemon/collectives/zoned_all_reduce.h"

namespace pace::collectives {

using base::Result;
using base::Task;

namespace {

// Sums all nodes' partials in node order. `gathered` holds the partials, beginning with self's.
void sum_gathered(const Communicator& communicator, const Layout& layout, double scale,
                  const std::byte* gathered, std::span<std::byte> result) {
    const size_t nodes = communicator.size();
    const ByteRange all{0, result.size()};
    std::vector<kernels::Source> sources;
    layout.for_each_piece(all, [&](const Piece& piece) {
        sources.clear();
        for (size_t node = 0; node < nodes; ++node) {
            if (!communicator.contributes(node)) continue;
            const size_t place = (node + nodes - communicator.self()) % nodes;
            sources.push_back({gathered + place * result.size() + piece.offset, 1.0});
        }
        kernels::weighted_sum(piece.dtype, sources, scale, result.data() + piece.offset,
                              piece.count);
    });
    layout.zero_padding(all, result.data());
}

// Bruck et al. 1997, section 3. After round k each node has its own partial and the partials of the
// 2^(k+1) - 1 nodes after it, in this order.
Task<Result<>> gather_all_reduce(Communicator& communicator, const Addend& part, double scale,
                                 std::span<std::byte> result, size_t first_index) {
    const size_t nodes = communicator.size();
    const size_t self = communicator.self();
    const size_t bytes = result.size();
    const std::unique_ptr<std::byte[]> gathered(new std::byte[nodes * bytes]);
    part.partial({0, bytes}, gathered.get());
    Operation sent;
    Operation received;
    size_t round = first_index;
    for (size_t have = 1; have < nodes; have *= 2, ++round) {
        const size_t count = std::min(have, nodes - have) * bytes;
        communicator.post_receive(received, (self + have) % nodes, slot(Phase::gather, round),
                                  {gathered.get() + have * bytes, count});
        communicator.post_send(sent, (self + nodes - have) % nodes, slot(Phase::gather, round),
                               {gathered.get(), count});
        communicator.note(co_await received.ended());
        communicator.note(co_await sent.ended());
        if (communicator.aborted()) co_return communicator.status();
    }
    communicator.begin_result();
    sum_gathered(communicator, part.layout(), scale, gathered.get(), result);
    co_return Result<>();
}

Task<Result<>> sum_alone(const Communicator& communicator, const Addend& part, double scale,
                         std::span<std::byte> result) {
    if (communicator.contributes(0))
        part.sum({0, result.size()}, scale, result.data());
    else
        std::fill(result.begin(), result.end(), std::byte{0});
    co_return Result<>();
}

Task<Result<>> reduce_arrived(Communicator& communicator, Flow& flow, ByteRange all,
                              Task<Result<>> reduce) {
    flow.begin(1, all.size());
    while (!flow.arrived(all) && !communicator.aborted()) co_await flow.changed();
    if (communicator.aborted()) co_return communicator.status();
    const Result<> reduced = co_await std::move(reduce);
    if (reduced) flow.finished(all);
    co_return reduced;
}

// Serves the algorithms that need the whole part. Starts `reduce` when the whole part has arrived.
// Reports the whole result when `reduce` has ended.
Task<Result<>> reduce_whole(Communicator& communicator, Flow* flow, std::span<std::byte> result,
                            Task<Result<>> reduce) {
    if (flow == nullptr) return reduce;
    return reduce_arrived(communicator, *flow, {0, result.size()}, std::move(reduce));
}

}  // namespace

size_t chunk_bytes_of(const AllReduceOptions& options, size_t bytes, size_t nodes) {
    const auto whole = [](size_t size) { return (size + kCutBytes - 1) / kCutBytes * kCutBytes; };
    const size_t block = (bytes + nodes - 1) / nodes;
    const size_t part = block / std::max<size_t>(1, options.chunks_per_block);
    const size_t bounded =
        std::min(std::max(part, options.chunk_bytes_min), options.chunk_bytes_max);
    return std::max(whole(bounded), kCutBytes);
}

Task<Result<>> all_reduce(Communicator& communicator, const Addend& part, double scale,
                          std::span<std::byte> result, AllReduceOptions options) {
    if (result.size() != part.layout().bytes())
        co_return base::make_error(
            base::ErrorKind::invalid,
            "the result has {} bytes, but the layout {}; allocate the latter", result.size(),
            part.layout().bytes());
    if (communicator.aborted()) co_return communicator.status();
    if (result.empty()) co_return Result<>();
    if (communicator.size() == 1)
        co_return co_await reduce_whole(communicator, options.flow, result,
                                        sum_alone(communicator, part, scale, result));
    if (result.size() <= options.small_bytes_max)
        co_return co_await reduce_whole(
            communicator, options.flow, result,
            gather_all_reduce(communicator, part, scale, result, options.first_index));
    const Zones zones(communicator.group().zones, communicator.size());
    if (zones.relays_help()) {
        ZonedAllReduce zoned(communicator, zones, part, scale, result, options);
        co_return co_await reduce_whole(communicator, options.flow, result, zoned.run());
    }
    DirectAllReduce direct(communicator, part, scale, result, options);
    co_return co_await direct.run();
}

}  // namespace pace::collectives
