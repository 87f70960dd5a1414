// ZonedAllReduce: one execution of the reduce-scatter and all-gather of all_reduce.h for nodes in
// several zones.
//
// Each node owns a block, and each zone has a carrier of each block (zones.h). The carrier is the
// owner itself or a relay. A carrier receives its zone's partials of a chunk and sums them. A relay
// sends this sum to the owner. The owner sums the zones' sums. It sends the finished chunk to its
// zone's nodes and to the relays. The relays send the chunk to their zones' nodes.
//
// Four kinds of coroutines run side by side, in bounded number, and hold all the memory:
//  * Own lanes. Lane l takes chunks l, l + window, … of the own block. It receives the partials of
//    the zone's nodes and the sums of the other zones, sums and publishes.
//  * Relay lanes. They do the same for the blocks that this node relays: first all their first
//    chunks, then all their second ones, and so on. They receive, sum, and send the sum to the
//    owner.
//  * Send lanes. They take the next message in order: partials for the carriers in this zone, then
//    finished chunks as they appear.
//  * One gatherer per block of another node. It receives the block's finished chunks into the
//    result. A relay's gatherer also hands them to the send lanes.
//
// As in direct_all_reduce.h, nothing is written to the result before every contributor has begun. A
// zone's sum waits for all its contributors, and is made in staging memory.
//
// Deadlock is impossible. Proof: take the least chunk number that an owner has not summed yet. (1)
// All owners have posted the receives of this number, since own lanes wait for no send. So relays'
// sends of chunks up to this number are received, and the relay lanes go on. (2) Within a zone,
// carriers post receives of partials by chunk, then by the block's place among those they carry.
// The nodes send partials in this order, to each carrier in turn. So every receive of the first
// open step is posted, and send lanes hold only partials until all their partials are sent. (3)
// Finished chunks leave in order and are received in order, and a gatherer waits for no send.
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
#include "daemon/collectives/layout/signal.h"
#include "daemon/collectives/layout/zones.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/kernels/reduce.h"

namespace pace::collectives {

class ZonedAllReduce {
  public:
    // All references must outlive run(). zones.relays_help() must be true.
    ZonedAllReduce(Communicator& communicator, const Zones& zones, const Addend& part, double scale,
                   std::span<std::byte> result, const AllReduceOptions& options);

    base::Task<base::Result<>> run();

  private:
    // Chunk `chunk` of the block that node `block` owns.
    struct Chunk {
        size_t block = 0;
        size_t chunk = 0;
    };
    struct Message {
        size_t node = 0;
        Chunk what;
    };
    // A summing lane's resources: memory and an operation for each place.
    struct Lane {
        std::byte* staging = nullptr;
        std::unique_ptr<Operation[]> received;
        std::vector<kernels::Source> sources;
    };

    base::Task<base::Result<>> own_lane(size_t number);
    base::Task<base::Result<>> relay_lane(size_t number);
    base::Task<base::Result<>> send_lane();
    base::Task<base::Result<>> gather(size_t block);

    void choose_receivers();
    void choose_lanes(const AllReduceOptions& options);
    Lane make_lane(size_t first_place) const;

    void receive_near(Lane& lane, Chunk what);
    void receive_far(Lane& lane, size_t chunk);
    void sum_near(Lane& lane, ByteRange range) const;
    void sum_zones(Lane& lane, ByteRange range);
    void publish(size_t chunk);

    bool next_partial(Message& message);
    bool next_finished(Message& message);
    bool is_ahead(size_t chunk) const;
    bool all_handed_out() const { return finished_index_ == finished_total_; }
    std::span<const std::byte> partial(ByteRange range,
                                       std::unique_ptr<std::byte[]>& staging) const;

    size_t self() const { return communicator_.self(); }
    ByteRange range_of(Chunk what) const { return blocks_.chunk(what.block, what.chunk); }
    // Returns the message index of a chunk. The index is unique among all blocks, since a relay
    // sends chunks of several blocks.
    size_t index(Chunk what) const {
        return first_index_ + what.block * blocks_.chunks_max() + what.chunk;
    }
    std::byte* at(ByteRange range) { return result_.data() + range.begin; }
    // Returns the memory of a place in a lane. The places are this zone's nodes in node order, then
    // the other zones.
    std::byte* place(const Lane& lane, size_t number) const {
        return lane.staging + number * blocks_.chunk_bytes();
    }
    // Returns the memory of this zone's sum. This is self's place, which receives nothing.
    std::byte* sum_place(const Lane& lane) const { return place(lane, self_member_); }
    size_t far_place(size_t zone) const { return near_.size() + zone - (zone > zone_ ? 1 : 0); }
    size_t own_places() const { return near_.size() + zones_.count() - 1; }

    Communicator& communicator_;
    const Zones& zones_;
    const Addend& part_;
    double scale_;
    std::span<std::byte> result_;
    size_t first_index_;
    Blocks blocks_;
    size_t zone_;                      // the zone of self
    const std::vector<size_t>& near_;  // the zone's nodes
    size_t self_member_ = 0;           // index of self in near_
    std::vector<bool> zone_contributes_;
    // The other nodes of near_, beginning with the one after self.
    std::vector<size_t> mates_;
    // The receivers of own finished chunks from self: relays, then mates.
    std::vector<size_t> spread_;
    // The blocks that each mate carries, by mate.
    std::vector<std::vector<size_t>> carried_;
    size_t carried_max_ = 0;
    std::vector<size_t> relayed_;  // blocks that self relays
    size_t window_ = 0;
    size_t own_lanes_ = 0;
    size_t relay_lanes_ = 0;
    size_t send_lanes_ = 0;
    // Memory for own lanes × own_places() chunks, then relay lanes × near_ chunks.
    std::unique_ptr<std::byte[]> staging_;

    // The next partial is chunk `partial_chunk_` for mate `partial_mate_`, of the block in place
    // `partial_place_` of those that the mate carries.
    size_t partial_chunk_ = 0;
    size_t partial_place_ = 0;
    size_t partial_mate_ = 0;

    // By own chunk.
    std::vector<bool> summed_;
    // The number of leading own chunks that are published.
    size_t published_ = 0;
    // Own and relayed chunks in the order in which they may be sent on, and the next message about
    // them.
    std::vector<Chunk> finished_;
    size_t finished_total_ = 0;
    size_t finished_index_ = 0;
    // The number of own chunks that have been sent.
    size_t own_left_ = 0;
    size_t finished_step_ = 0;
    bool alone_ = true;  // no other node contributes
    Signal changed_;
};

}  // namespace pace::collectives
