#include "daemon/collectives/direct_all_reduce.h"

#include <algorithm>
#include <utility>

#include "daemon/collectives/messages/slots.h"

namespace pace::collectives {

using base::Result;
using base::Task;

DirectAllReduce::DirectAllReduce(Communicator& communicator, const Addend& part, double scale,
                                 std::span<std::byte> result, const AllReduceOptions& options)
    : communicator_(communicator),
      part_(part),
      scale_(scale),
      result_(result),
      blocks_(result.size(), communicator.size(),
              chunk_bytes_of(options, result.size(), communicator.size())),
      window_(std::max<size_t>(1, options.window)),
      sends_max_(options.sends_max),
      first_index_(options.first_index),
      flow_(options.flow),
      summed_(blocks_.chunks(communicator.self()), false) {
    if (sends_max_ == 0) sends_max_ = 4 * (nodes() - 1);
    window_ = std::min(window_, std::max<size_t>(1, blocks_.chunks(self())));
    const size_t per_lane = (nodes() - 1) * blocks_.chunk_bytes();
    window_ = std::min(window_, std::max<size_t>(2, options.staging_bytes_max / per_lane));
    alone_ = contributes_alone();
}

bool DirectAllReduce::contributes_alone() const {
    for (size_t node = 0; node < nodes(); ++node)
        if (node != self() && communicator_.contributes(node)) return false;
    return true;
}

// Returns whether an own chunk can wait because chunks before it have not been sent.
bool DirectAllReduce::is_ahead(size_t chunk) const {
    return alone_ && chunk >= finished_chunk_ + 2 * window_;
}

Task<Result<>> DirectAllReduce::run() {
    // The memory is uninitialized. Every byte is received before it is read.
    staging_.reset(new std::byte[window_ * (nodes() - 1) * blocks_.chunk_bytes()]);
    if (flow_ != nullptr) flow_->begin(nodes(), blocks_.chunk_bytes());
    std::vector<Task<Result<>>> tasks;
    for (size_t lane = 0; lane < window_; ++lane) tasks.push_back(reduce_lane(lane));
    for (size_t step = 1; step < nodes(); ++step) tasks.push_back(gather(after(step)));
    for (size_t lane = 0; lane < sends_max_; ++lane) tasks.push_back(send_lane());
    if (flow_ != nullptr && contributes()) tasks.push_back(watch_flow());
    co_await base::when_all(std::move(tasks));
    co_return communicator_.status();
}

Task<Result<>> DirectAllReduce::reduce_lane(size_t lane) {
    std::byte* staging = staging_.get() + lane * (nodes() - 1) * blocks_.chunk_bytes();
    const std::unique_ptr<Operation[]> received(new Operation[nodes()]);
    std::vector<kernels::Source> sources;
    sources.reserve(nodes());
    for (size_t c = lane; c < blocks_.chunks(self()) && !communicator_.aborted(); c += window_) {
        const ByteRange range = blocks_.chunk(self(), c);
        for (size_t step = 1; step < nodes(); ++step) {
            const size_t node = after(nodes() - step);
            if (!communicator_.contributes(node)) continue;
            communicator_.post_receive(received[node], node, slot(Phase::partial, first_index_ + c),
                                       {staging + place(node), range.size()});
        }
        // All receives are awaited even after an error, because they write to the staging memory.
        for (size_t node = 0; node < nodes(); ++node)
            communicator_.note(co_await received[node].ended());
        while ((is_missing(self(), c) || is_ahead(c)) && !communicator_.aborted())
            co_await changed_.changed();
        if (communicator_.aborted()) break;
        communicator_.begin_result();
        sum_chunk(range, staging, sources);
        report(range);
        publish(c);
    }
    changed_.notify();
    co_return communicator_.status();
}

// Sums the partials of an own chunk, including this node's, in node order into the result.
void DirectAllReduce::sum_chunk(ByteRange range, const std::byte* staging,
                                std::vector<kernels::Source>& sources) {
    const std::byte* mine = nullptr;
    if (contributes()) {
        mine = part_.direct(range).data();
        if (mine == nullptr) {
            part_.partial(range, at(range));
            mine = at(range);
        }
    }
    part_.layout().for_each_piece(range, [&](const Piece& piece) {
        const size_t offset = piece.offset - range.begin;
        sources.clear();
        for (size_t node = 0; node < nodes(); ++node) {
            if (!communicator_.contributes(node)) continue;
            const std::byte* partial = node == self() ? mine : staging + place(node);
            sources.push_back({partial + offset, 1.0});
        }
        kernels::weighted_sum(piece.dtype, sources, scale_, at(range) + offset, piece.count);
    });
    part_.layout().zero_padding(range, at(range));
}

// Publishes in the order of chunks, in whatever order the lanes end. A peer receives the chunks in
// this order.
void DirectAllReduce::publish(size_t chunk) {
    summed_[chunk] = true;
    while (published_ < summed_.size() && summed_[published_]) ++published_;
    changed_.notify();
}

Task<Result<>> DirectAllReduce::send_lane() {
    Operation sent;
    Message message;
    std::unique_ptr<std::byte[]> staging;  // for a partial that is not in one member's memory
    while (!communicator_.aborted()) {
        const bool is_partial = next_partial(message);
        if (!is_partial && !next_finished(message)) {
            if (all_handed_out()) break;
            co_await changed_.changed();
            continue;
        }
        const Phase phase = is_partial ? Phase::partial : Phase::finished;
        communicator_.post_send(sent, message.node, slot(phase, first_index_ + message.chunk),
                                outgoing(message, staging));
        communicator_.note(co_await sent.ended());
        if (alone_) changed_.notify();
    }
    if (alone_) changed_.notify();
    co_return communicator_.status();
}

// Returns partials chunk by chunk, for each node in turn, beginning with the node after self.
// Returns none while the next partial has not arrived.
bool DirectAllReduce::next_partial(Message& message) {
    if (!contributes()) return false;
    while (partial_chunk_ < blocks_.chunks_max()) {
        const size_t node = after(partial_step_);
        message = {node, node, partial_chunk_};
        const bool is_there = message.chunk < blocks_.chunks(node);
        if (is_there && is_missing(node, message.chunk)) return false;
        if (++partial_step_ == nodes()) {
            partial_step_ = 1;
            ++partial_chunk_;
        }
        if (is_there) return true;
    }
    return false;
}

// Returns no finished chunk before the partials of all first chunks have been returned. The
// receiver of a finished chunk may need one of these partials to begin its result.
bool DirectAllReduce::next_finished(Message& message) {
    if (finished_chunk_ == published_ || (contributes() && partial_chunk_ == 0)) return false;
    message = {after(finished_step_), self(), finished_chunk_};
    if (++finished_step_ == nodes()) {
        finished_step_ = 1;
        ++finished_chunk_;
    }
    return true;
}

// Must be called when next_partial() has none left. By then next_partial() has skipped the chunks
// that do not exist.
bool DirectAllReduce::all_handed_out() const {
    const bool partials = !contributes() || partial_chunk_ == blocks_.chunks_max();
    return partials && finished_chunk_ == summed_.size();
}

std::span<const std::byte> DirectAllReduce::outgoing(const Message& message,
                                                     std::unique_ptr<std::byte[]>& staging) {
    const ByteRange range = blocks_.chunk(message.block, message.chunk);
    if (message.block == self()) return {at(range), range.size()};
    const std::span<const std::byte> direct = part_.direct(range);
    if (!direct.empty()) return direct;
    if (!staging) staging.reset(new std::byte[blocks_.chunk_bytes()]);
    part_.partial(range, staging.get());
    return {staging.get(), range.size()};
}

Task<Result<>> DirectAllReduce::gather(size_t node) {
    if (blocks_.chunks(self()) == 0) communicator_.begin_result();
    while (!communicator_.result_begun() && !communicator_.aborted()) co_await changed_.changed();
    // A ring of receives: chunk c uses the place of chunk c - places once that chunk has come.
    const size_t chunks = blocks_.chunks(node);
    const size_t places = std::min(2 * window_, std::max<size_t>(1, chunks));
    const std::unique_ptr<Operation[]> received(new Operation[places]);
    const auto post = [&](size_t c) {
        const ByteRange range = blocks_.chunk(node, c);
        communicator_.post_receive(received[c % places], node,
                                   slot(Phase::finished, first_index_ + c),
                                   {at(range), range.size()});
    };
    for (size_t c = 0; c < std::min(places, chunks); ++c) post(c);
    for (size_t c = 0; c < chunks; ++c) {
        const Result<> ended = co_await received[c % places].ended();
        communicator_.note(ended);
        if (c + places < chunks) post(c + places);
        if (ended) report(blocks_.chunk(node, c));
    }
    co_return communicator_.status();
}

// ------------------------------------------------------------------------------------- flow

// Whether a chunk of the part, which is about to be read, has not arrived.
bool DirectAllReduce::is_missing(size_t block, size_t chunk) const {
    return flow_ != nullptr && contributes() && !flow_->arrived(blocks_.chunk(block, chunk));
}

void DirectAllReduce::report(ByteRange range) {
    if (flow_ != nullptr) flow_->finished(range);
}

// Makes every coroutine that waits for a missing chunk look again, even if the rest of the part
// arrived without a notification.
Task<Result<>> DirectAllReduce::watch_flow() {
    const ByteRange all{0, result_.size()};
    while (!flow_->arrived(all) && !communicator_.aborted()) {
        co_await flow_->changed();
        changed_.notify();
    }
    changed_.notify();
    co_return communicator_.status();
}

}  // namespace pace::collectives
