// DirectAllReduce: the direct reduce-scatter and all-gather of all_reduce.h, one execution of it.
//
// Three kinds of coroutines run side by side, bounded in number, and nothing else holds memory:
//  * reduce lanes: lane l takes chunks l, l + window, … of the own block: receive all partials,
//    sum, publish;
//  * send lanes: take the next message in order, partials first, then finished chunks as they
//    appear;
//  * one gatherer per other node: receives that node's finished chunks into the result.
//
// The result is the only large memory, and nothing is written to it before every contributor has begun:
// a chunk is summed there when all its partials have come, and finished chunks of others are asked for only
// after that. So what the memory held before, such as the result of the exchange before this one, is lost
// only when nobody needs it. (A node whose block is empty sums nothing and cannot tell: it does not wait.)
//
// It cannot lock up. Partials leave in chunk order, and a reduce lane asks for its next chunk
// without waiting for any send; so the least chunk that is still open anywhere has all its partials
// sent and received. A finished chunk is asked for at the latest when the one two windows
// before it has come, which its owner finished, and sent, earlier.
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

    void sum_chunk(ByteRange range, const std::byte* staging,
                   std::vector<kernels::Source>& sources);
    bool next_partial(Message& message);
    bool next_finished(Message& message);
    bool all_handed_out() const;
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
    std::unique_ptr<std::byte[]> staging_;  // window lanes × a chunk from every other node

    // The next partial is chunk `partial_chunk_` for the node `partial_step_` after self.
    size_t partial_chunk_ = 0;
    size_t partial_step_ = 1;

    // Own chunks in the order in which they were finished, and the next message about them.
    std::vector<size_t> finished_;
    size_t finished_index_ = 0;
    size_t finished_step_ = 1;
    Signal finished_changed_;
};

}  // namespace pace::collectives
