#include "daemon/collectives/zoned_all_reduce.h"

#include <algorithm>
#include <utility>

#include "daemon/collectives/messages/slots.h"

namespace pace::collectives {

using base::Result;
using base::Task;

ZonedAllReduce::ZonedAllReduce(Communicator& communicator, const Zones& zones, const Addend& part,
                               double scale, std::span<std::byte> result,
                               const AllReduceOptions& options)
    : communicator_(communicator),
      zones_(zones),
      part_(part),
      scale_(scale),
      result_(result),
      first_index_(options.first_index),
      blocks_(result.size(), communicator.size(),
              chunk_bytes_of(options, result.size(), communicator.size())),
      zone_(zones.of(communicator.self())),
      near_(zones.members(zone_)),
      zone_contributes_(zones.count(), false),
      relayed_(zones.carried_by(communicator.self())),
      summed_(blocks_.chunks(communicator.self()), false) {
    relayed_.pop_back();
    for (size_t node = 0; node < communicator_.size(); ++node)
        if (communicator_.contributes(node)) {
            zone_contributes_[zones_.of(node)] = true;
            if (node != self()) alone_ = false;
        }
    choose_receivers();
    choose_lanes(options);
    finished_total_ = blocks_.chunks(self());
    if (!mates_.empty())
        for (const size_t block : relayed_) finished_total_ += blocks_.chunks(block);
    finished_.reserve(finished_total_);
}

void ZonedAllReduce::choose_receivers() {
    const auto member = std::find(near_.begin(), near_.end(), self());
    self_member_ = static_cast<size_t>(member - near_.begin());
    mates_.assign(member + 1, near_.end());
    mates_.insert(mates_.end(), near_.begin(), member);
    for (const size_t mate : mates_) {
        carried_.push_back(zones_.carried_by(mate));
        carried_max_ = std::max(carried_max_, carried_.back().size());
    }
    for (size_t step = 1; step < zones_.count(); ++step)
        spread_.push_back(zones_.carrier(self(), (zone_ + step) % zones_.count()));
    spread_.insert(spread_.end(), mates_.begin(), mates_.end());
}

void ZonedAllReduce::choose_lanes(const AllReduceOptions& options) {
    const size_t per_lane_pair = (own_places() + near_.size()) * blocks_.chunk_bytes();
    window_ = std::min(std::max<size_t>(1, options.window),
                       std::max<size_t>(2, options.staging_bytes_max / per_lane_pair));
    own_lanes_ = std::min(window_, std::max<size_t>(1, blocks_.chunks(self())));
    if (zone_contributes_[zone_])
        relay_lanes_ = std::min(window_, relayed_.size() * blocks_.chunks_max());
    send_lanes_ = options.sends_max == 0 ? 4 * spread_.size() : options.sends_max;
}

Task<Result<>> ZonedAllReduce::run() {
    // The memory is uninitialized. Every byte is received or summed before it is read.
    const size_t places = own_lanes_ * own_places() + relay_lanes_ * near_.size();
    staging_.reset(new std::byte[places * blocks_.chunk_bytes()]);
    std::vector<Task<Result<>>> tasks;
    for (size_t number = 0; number < own_lanes_; ++number) tasks.push_back(own_lane(number));
    for (size_t number = 0; number < relay_lanes_; ++number) tasks.push_back(relay_lane(number));
    for (size_t step = 1; step < communicator_.size(); ++step)
        tasks.push_back(gather((self() + step) % communicator_.size()));
    for (size_t number = 0; number < send_lanes_; ++number) tasks.push_back(send_lane());
    co_await base::when_all(std::move(tasks));
    co_return communicator_.status();
}

// ---------------------------------------------------------------------------------- summing

Task<Result<>> ZonedAllReduce::own_lane(size_t number) {
    Lane lane = make_lane(number * own_places());
    for (size_t c = number; c < blocks_.chunks(self()) && !communicator_.aborted();
         c += own_lanes_) {
        receive_near(lane, {self(), c});
        receive_far(lane, c);
        // All receives are awaited even after an error, because they write to the staging memory.
        for (size_t place = 0; place < own_places(); ++place)
            communicator_.note(co_await lane.received[place].ended());
        while (is_ahead(c) && !communicator_.aborted()) co_await changed_.changed();
        if (communicator_.aborted()) break;
        communicator_.begin_result();
        const ByteRange range = blocks_.chunk(self(), c);
        sum_near(lane, range);
        sum_zones(lane, range);
        publish(c);
    }
    changed_.notify();
    co_return communicator_.status();
}

Task<Result<>> ZonedAllReduce::relay_lane(size_t number) {
    Lane lane = make_lane(own_lanes_ * own_places() + number * near_.size());
    Operation sent;
    const size_t steps = blocks_.chunks_max() * relayed_.size();
    for (size_t step = number; step < steps && !communicator_.aborted(); step += relay_lanes_) {
        const Chunk what{relayed_[step % relayed_.size()], step / relayed_.size()};
        if (what.chunk >= blocks_.chunks(what.block)) continue;
        receive_near(lane, what);
        for (size_t place = 0; place < near_.size(); ++place)
            communicator_.note(co_await lane.received[place].ended());
        if (communicator_.aborted()) break;
        const ByteRange range = range_of(what);
        sum_near(lane, range);
        communicator_.post_send(sent, what.block, slot(Phase::partial, index(what)),
                                {sum_place(lane), range.size()});
        communicator_.note(co_await sent.ended());
    }
    co_return communicator_.status();
}

// As in DirectAllReduce.
bool ZonedAllReduce::is_ahead(size_t chunk) const {
    return alone_ && chunk >= own_left_ + 2 * own_lanes_;
}

ZonedAllReduce::Lane ZonedAllReduce::make_lane(size_t first_place) const {
    Lane lane;
    lane.staging = staging_.get() + first_place * blocks_.chunk_bytes();
    lane.received.reset(new Operation[own_places()]);
    lane.sources.reserve(own_places());
    return lane;
}

void ZonedAllReduce::receive_near(Lane& lane, Chunk what) {
    for (size_t member = 0; member < near_.size(); ++member) {
        const size_t node = near_[member];
        if (node == self() || !communicator_.contributes(node)) continue;
        communicator_.post_receive(lane.received[member], node, slot(Phase::partial, index(what)),
                                   {place(lane, member), range_of(what).size()});
    }
}

void ZonedAllReduce::receive_far(Lane& lane, size_t chunk) {
    const Chunk what{self(), chunk};
    for (size_t zone = 0; zone < zones_.count(); ++zone) {
        if (zone == zone_ || !zone_contributes_[zone]) continue;
        communicator_.post_receive(lane.received[far_place(zone)], zones_.carrier(self(), zone),
                                   slot(Phase::partial, index(what)),
                                   {place(lane, far_place(zone)), range_of(what).size()});
    }
}

// Sums the partials of this zone's nodes, including this node's, in node order into sum_place().
void ZonedAllReduce::sum_near(Lane& lane, ByteRange range) const {
    if (!zone_contributes_[zone_]) return;
    std::byte* out = sum_place(lane);
    const std::byte* mine = nullptr;
    if (communicator_.contributes(self())) {
        mine = part_.direct(range).data();
        if (mine == nullptr) {
            part_.partial(range, out);
            mine = out;
        }
    }
    part_.layout().for_each_piece(range, [&](const Piece& piece) {
        const size_t offset = piece.offset - range.begin;
        lane.sources.clear();
        for (size_t member = 0; member < near_.size(); ++member) {
            if (!communicator_.contributes(near_[member])) continue;
            const std::byte* partial = member == self_member_ ? mine : place(lane, member);
            lane.sources.push_back({partial + offset, 1.0});
        }
        kernels::weighted_sum(piece.dtype, lane.sources, scale_, out + offset, piece.count);
    });
    part_.layout().zero_padding(range, out);
}

// Sums the zones' sums of an own chunk, in the order of the zones, into the result.
void ZonedAllReduce::sum_zones(Lane& lane, ByteRange range) {
    part_.layout().for_each_piece(range, [&](const Piece& piece) {
        const size_t offset = piece.offset - range.begin;
        lane.sources.clear();
        for (size_t zone = 0; zone < zones_.count(); ++zone) {
            if (!zone_contributes_[zone]) continue;
            const std::byte* sum = zone == zone_ ? sum_place(lane) : place(lane, far_place(zone));
            lane.sources.push_back({sum + offset, 1.0});
        }
        kernels::weighted_sum(piece.dtype, lane.sources, 1.0, at(range) + offset, piece.count);
    });
    part_.layout().zero_padding(range, at(range));
}

// Publishes in the order of chunks, in whatever order the lanes end.
void ZonedAllReduce::publish(size_t chunk) {
    summed_[chunk] = true;
    while (published_ < summed_.size() && summed_[published_])
        finished_.push_back({self(), published_++});
    changed_.notify();
}

// ---------------------------------------------------------------------------------- sending

Task<Result<>> ZonedAllReduce::send_lane() {
    Operation sent;
    Message message;
    std::unique_ptr<std::byte[]> staging;  // for a partial that is not in one member's memory
    while (!communicator_.aborted()) {
        if (next_partial(message)) {
            communicator_.post_send(sent, message.node, slot(Phase::partial, index(message.what)),
                                    partial(range_of(message.what), staging));
        } else if (next_finished(message)) {
            const ByteRange range = range_of(message.what);
            communicator_.post_send(sent, message.node, slot(Phase::finished, index(message.what)),
                                    {at(range), range.size()});
        } else {
            if (all_handed_out()) break;
            co_await changed_.changed();
            continue;
        }
        communicator_.note(co_await sent.ended());
        if (alone_) changed_.notify();
    }
    if (alone_) changed_.notify();
    co_return communicator_.status();
}

// Returns partials chunk by chunk. Within a chunk, the blocks in the first place at each mate come
// first, then the blocks in the second place, and so on. For each place, the mates take turns.
bool ZonedAllReduce::next_partial(Message& message) {
    if (mates_.empty() || !communicator_.contributes(self())) return false;
    while (partial_chunk_ < blocks_.chunks_max()) {
        const std::vector<size_t>& carried = carried_[partial_mate_];
        const bool is_there = partial_place_ < carried.size() &&
                              partial_chunk_ < blocks_.chunks(carried[partial_place_]);
        if (is_there) message = {mates_[partial_mate_], {carried[partial_place_], partial_chunk_}};
        if (++partial_mate_ == mates_.size()) {
            partial_mate_ = 0;
            ++partial_place_;
        }
        if (partial_place_ == carried_max_) {
            partial_place_ = 0;
            ++partial_chunk_;
        }
        if (is_there) return true;
    }
    return false;
}

bool ZonedAllReduce::next_finished(Message& message) {
    if (finished_index_ == finished_.size()) return false;
    const Chunk what = finished_[finished_index_];
    const std::vector<size_t>& nodes = what.block == self() ? spread_ : mates_;
    message = {nodes[finished_step_], what};
    if (++finished_step_ == nodes.size()) {
        finished_step_ = 0;
        ++finished_index_;
        if (what.block == self()) ++own_left_;
    }
    return true;
}

std::span<const std::byte> ZonedAllReduce::partial(ByteRange range,
                                                   std::unique_ptr<std::byte[]>& staging) const {
    const std::span<const std::byte> direct = part_.direct(range);
    if (!direct.empty()) return direct;
    if (!staging) staging.reset(new std::byte[blocks_.chunk_bytes()]);
    part_.partial(range, staging.get());
    return {staging.get(), range.size()};
}

// -------------------------------------------------------------------------------- gathering

Task<Result<>> ZonedAllReduce::gather(size_t block) {
    if (blocks_.chunks(self()) == 0) communicator_.begin_result();
    while (!communicator_.result_begun() && !communicator_.aborted()) co_await changed_.changed();
    const size_t carrier = zones_.carrier(block, zone_);
    const bool relays = carrier == self() && !mates_.empty();
    const size_t from = carrier == self() ? block : carrier;
    // A ring of receives: chunk c uses the place of chunk c - places once that chunk has come.
    const size_t chunks = blocks_.chunks(block);
    const size_t places = std::min(2 * window_, std::max<size_t>(1, chunks));
    const std::unique_ptr<Operation[]> received(new Operation[places]);
    const auto post = [&](size_t c) {
        const ByteRange range = blocks_.chunk(block, c);
        communicator_.post_receive(received[c % places], from,
                                   slot(Phase::finished, index({block, c})),
                                   {at(range), range.size()});
    };
    for (size_t c = 0; c < std::min(places, chunks); ++c) post(c);
    for (size_t c = 0; c < chunks; ++c) {
        communicator_.note(co_await received[c % places].ended());
        if (c + places < chunks) post(c + places);
        if (!relays || communicator_.aborted()) continue;
        finished_.push_back({block, c});
        changed_.notify();
    }
    changed_.notify();
    co_return communicator_.status();
}

}  // namespace pace::collectives
