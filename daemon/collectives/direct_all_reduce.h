// DirectAllReduce: one execution of the direct reduce-scatter and all-gather of all_reduce.h.
//
// Three kinds of coroutines run side by side, in bounded number, and hold all the memory:
//  * Reduce lanes. Lane l takes chunks l, l + window, … of the own block. It receives all partials
//    of a chunk, sums them and publishes the sum.
//  * Send lanes. They take the next message in order: first partials, then finished chunks as they
//    appear.
//  * One gatherer per other node. It receives that node's finished chunks into the result.
//
// With a flow (flow.h), a lane waits if it needs a chunk of the part that has not arrived. A reduce
// lane waits before it sums, with the others' partials in its staging memory. The send lanes wait
// before the next partial. No later partial overtakes it. Meanwhile any free send lane sends
// finished chunks. One more coroutine is notified of arrivals and wakes all waiting lanes.
//
// The result is the only large memory. Nothing is written to the result before every contributor
// has begun. A chunk is summed when all its partials have come, and finished chunks of others are
// received only after that. The former contents of the memory may be the previous exchange's
// result. So they are lost only when no node needs them. (A node whose block is empty sums nothing
// and cannot tell who has begun. It does not wait.)
//
// Deadlock is impossible, whatever the order in which the parts arrive. Proof: take the least chunk
// number that an owner has not summed yet. (1) All owners have posted the receives of this number,
// since reduce lanes wait for no send. Partials leave in chunk order. So a lane that holds a
// partial of this number or less comes free. (2) A lane that holds a finished chunk also comes
// free. Finished chunks leave in order and are received in order, once their receiver has begun its
// result. If the number is not 0, all nodes have begun. If the number is 0, a lane may wait for a
// node that has not begun. But finished chunks leave only after their sender's partials of number
// 0, so no node waits for this sender. (3) So all partials of this number come, and all owners sum
// it.
//
// If this node alone contributes, its reduce lanes have nothing to wait for and would sum the whole
// block at once. So they stay only a few chunks ahead of the sends. These sends do not depend on
// the lanes. Other nodes' lanes wait for this node only at their first chunks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/layout/addend.h"
#include "daemon/collectives/layout/blocks.h"
#include "daemon/collectives/layout/flow.h"
#include "daemon/collectives/layout/signal.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/kernels/reduce.h"

namespace pace::collectives {

class DirectAllReduce {
  public:
    // All references must outlive run().
    DirectAllReduce(Communicator& communicator, const Addend& part, double scale,
                    std::span<std::byte> result, const AllReduceOptions& options);

    base::Task<base::Result<>> run();

  private:
    // A message to send to `node`: one chunk of the block that node `block` owns.
    struct Message {
        size_t node = 0;
        size_t block = 0;
        size_t chunk = 0;
    };

    base::Task<base::Result<>> reduce_lane(size_t lane);
    base::Task<base::Result<>> send_lane();
    base::Task<base::Result<>> gather(size_t node);
    base::Task<base::Result<>> watch_flow();

    void sum_chunk(ByteRange range, const std::byte* staging,
                   std::vector<kernels::Source>& sources);
    void publish(size_t chunk);
    bool next_partial(Message& message);
    bool next_finished(Message& message);
    bool all_handed_out() const;
    bool contributes() const { return communicator_.contributes(self()); }
    bool is_missing(size_t block, size_t chunk) const;
    bool contributes_alone() const;
    bool is_ahead(size_t chunk) const;
    void report(ByteRange range);
    std::span<const std::byte> outgoing(const Message& message,
                                        std::unique_ptr<std::byte[]>& staging);

    size_t nodes() const { return communicator_.size(); }
    size_t self() const { return communicator_.self(); }
    // Returns the node `steps` after self.
    size_t after(size_t steps) const { return (self() + steps) % nodes(); }
    // Returns the offset of another node's partial in the staging memory of a lane.
    size_t place(size_t node) const {
        return (node + nodes() - self() - 1) % nodes() * blocks_.chunk_bytes();
    }
    std::byte* at(ByteRange range) { return result_.data() + range.begin; }

    Communicator& communicator_;
    const Addend& part_;
    double scale_;
    std::span<std::byte> result_;
    Blocks blocks_;
    size_t window_;
    size_t sends_max_;
    size_t first_index_;
    Flow* flow_;
    // Memory for window lanes. Each lane has room for a chunk from every other node.
    std::unique_ptr<std::byte[]> staging_;

    // The next partial is chunk `partial_chunk_` for the node `partial_step_` after self.
    size_t partial_chunk_ = 0;
    size_t partial_step_ = 1;

    // By own chunk.
    std::vector<bool> summed_;
    // The number of leading own chunks that may be sent.
    size_t published_ = 0;
    // The next finished chunk to send is `finished_chunk_`, to the node `finished_step_` after
    // self.
    size_t finished_chunk_ = 0;
    size_t finished_step_ = 1;
    bool alone_ = false;  // no other node contributes
    // Notified when more chunks were published, arrived or sent, or when the exchange was aborted.
    Signal changed_;
};

}  // namespace pace::collectives
