// ZonedAllReduce: the reduce-scatter and all-gather of all_reduce.h for nodes in several zones, one
// execution of it.
//
// Each node owns a block, and each zone has a carrier of each block (zones.h): the owner itself, or
// a relay. A carrier receives its zone's partials of a chunk and sums them. A relay sends this sum
// to the owner, which sums the zones' and sends the finished chunk to its zone and to the relays,
// and these to theirs.
//
// Four kinds of coroutines run side by side, bounded in number, and nothing else holds memory:
//  * own lanes: lane l takes chunks l, l + window, … of the own block: receive the partials of the
//    zone's nodes and of the other zones, sum, publish;
//  * relay lanes: likewise for the blocks that this node relays, all their first chunks, then all
//    their second ones, …: receive, sum, send to the owner;
//  * send lanes: take the next message in order: partials for the carriers in this zone, then
//    finished chunks as they appear;
//  * one gatherer per block of another node: receives its finished chunks into the result, and a
//    relay's gives them to the send lanes.
//
// As in direct_all_reduce.h, the result is not written to before every contributor has begun: a
// zone's sum waits for all its contributors, and is made in staging memory.
//
// It cannot lock up. Take the least chunk number that an owner has not summed yet. (1) All owners
// have asked for it: own lanes wait for no send. So what relays send of chunks up to it is taken,
// and their lanes go on. (2) In one zone, carriers ask for partials by chunk, then by the place of
// the block among those they carry, and the nodes send them in this order, the carriers in turn; so
// the first step that is still open has been asked for everywhere, and send lanes hold nothing
// but partials until theirs are out. (3) Finished chunks leave in order, are received in order, and a
// gatherer waits for no send.
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
#include "daemon/collectives/zones.h"
#include "daemon/kernels/reduce.h"

namespace pace::collectives {

class ZonedAllReduce {
  public:
    // What is referred to must outlive run(). zones.relays_help() must be true.
    ZonedAllReduce(Communicator& communicator, const Zones& zones, const Addend& part, double scale,
                   std::span<std::byte> result, const AllReduceOptions& options);

    base::Task<base::Result<>> run();

  private:
    // Chunk `chunk` of node `block`'s block.
    struct Chunk {
        size_t block = 0;
        size_t chunk = 0;
    };
    struct Message {
        size_t node = 0;
        Chunk what;
    };
    // What a lane that sums holds: memory and an operation for each place.
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
    // Unique among all chunks, since a relay sends those of several blocks.
    size_t index(Chunk what) const {
        return first_index_ + what.block * blocks_.chunks_max() + what.chunk;
    }
    std::byte* at(ByteRange range) { return result_.data() + range.begin; }
    // Places in a lane: this zone's nodes in node order, then the other zones.
    std::byte* place(const Lane& lane, size_t number) const {
        return lane.staging + number * blocks_.chunk_bytes();
    }
    // Of this zone's sum: self's, where nothing is received.
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
    size_t zone_;                      // self's
    const std::vector<size_t>& near_;  // the zone's nodes
    size_t self_member_ = 0;           // self among them
    std::vector<bool> zone_contributes_;
    std::vector<size_t> mates_;   // the others of near_, beginning after self
    std::vector<size_t> spread_;  // who gets own finished chunks from self: relays, then mates
    std::vector<std::vector<size_t>> carried_;  // by mate
    size_t carried_max_ = 0;
    std::vector<size_t> relayed_;  // blocks that self relays
    size_t window_ = 0;
    size_t own_lanes_ = 0;
    size_t relay_lanes_ = 0;
    size_t send_lanes_ = 0;
    std::unique_ptr<std::byte[]>
        staging_;  // own lanes × own_places(), relay lanes × near_, in chunks

    // The next partial is for mate `partial_mate_`, of the block in place `partial_place_` of those
    // that it carries.
    size_t partial_chunk_ = 0;
    size_t partial_place_ = 0;
    size_t partial_mate_ = 0;

    std::vector<bool> summed_;  // own chunks
    size_t published_ = 0;      // so many of them, from the first on
    // Own chunks and relayed ones in the order in which they may be sent on, and the next message
    // about them.
    std::vector<Chunk> finished_;
    size_t finished_total_ = 0;
    size_t finished_index_ = 0;
    size_t own_left_ = 0;  // of these, own ones
    size_t finished_step_ = 0;
    bool alone_ = true;  // no other node contributes
    Signal changed_;
};

}  // namespace pace::collectives
