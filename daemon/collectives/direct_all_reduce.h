// DirectAllReduce: the direct reduce-scatter and all-gather of all_reduce.h, one execution of it.
//
// Three kinds of coroutines run side by side, bounded in number, and nothing else holds memory:
//  * reduce lanes: lane l takes chunks l, l + window, … of the own block: receive all partials,
//    sum, publish;
//  * send lanes: take the next message in order, partials first, then finished chunks as they
//    appear;
//  * one gatherer per other node: receives that node's finished chunks into the result.
//
// With a flow (flow.h), whoever comes to a chunk of the part that has not arrived waits: a reduce lane, with
// the others' partials in its staging memory, before it sums; the send lanes before they take the next
// partial, which none overtakes. Finished chunks leave meanwhile, by whichever lane is free. One more
// coroutine hears of what arrives, and wakes all who wait.
//
// The result is the only large memory, and nothing is written to it before every contributor has begun:
// a chunk is summed there when all its partials have come, and finished chunks of others are asked for only
// after that. So what the memory held before, such as the result of the exchange before this one, is lost
// only when nobody needs it. (A node whose block is empty sums nothing and cannot tell: it does not wait.)
//
// It cannot lock up, in whatever order the parts arrive. Take the least chunk number that an owner has not
// summed yet. (1) All owners have asked for it: reduce lanes wait for no send. Partials leave in chunk
// order, so a lane that holds one of this number or less comes free. (2) So does a lane that holds a
// finished chunk: these leave in order and are received in order, once their receiver has begun its result.
// If the number is not 0, all have. If it is, a lane may wait for one that has not; but finished chunks do not
// leave before the node's partials of number 0 have, so nobody waits for this node. (3) So all partials of
// this number come, and all owners sum it.
//
// Where this node alone contributes, its reduce lanes have nothing to wait for, and would sum the whole block at once: they stay a few chunks
// ahead of what has left. These chunks leave whatever the lanes do, and nobody else's lanes wait for this node but at their first chunks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/addend.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/blocks.h"
#include "daemon/collectives/communicator.h"
#include "daemon/collectives/flow.h"
#include "daemon/collectives/signal.h"
#include "daemon/kernels/reduce.h"

namespace pace::collectives {

class DirectAllReduce {
  public:
    // What is referred to must outlive run().
    DirectAllReduce(Communicator& communicator, const Addend& part, double scale,
                    std::span<std::byte> result, const AllReduceOptions& options);

    base::Task<base::Result<>> run();

  private:
    // A message to send: a chunk of node `block`'s block, to `node`.
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
    // The node `steps` after self.
    size_t after(size_t steps) const { return (self() + steps) % nodes(); }
    // Where another node's partial lies in the staging memory of a lane.
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
    std::unique_ptr<std::byte[]> staging_;  // window lanes × a chunk from every other node

    // The next partial is chunk `partial_chunk_` for the node `partial_step_` after self.
    size_t partial_chunk_ = 0;
    size_t partial_step_ = 1;

    std::vector<bool> summed_;  // own chunks
    size_t published_ = 0;      // so many of them, from the first on, may be sent
    // The next finished chunk, and for which node after self.
    size_t finished_chunk_ = 0;
    size_t finished_step_ = 1;
    bool alone_ = false;  // no other node contributes
    Signal
        changed_;  // more is published, or has arrived, or left, or the exchange has been given up
};

}  // namespace pace::collectives
