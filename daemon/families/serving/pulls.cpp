#include "daemon/families/serving/pulls.h"

#include <algorithm>
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/members/model_range.h"

namespace pace::daemon {

namespace {

// The elements of the shard that the pull wants, counted in the model; empty if it wants none.
server::Range wanted(const Pull& pull, server::Range shard) {
    const uint64_t begin = std::max<uint64_t>(shard.begin, pull.first);
    const uint64_t end = std::min<uint64_t>(shard.end, pull.first + pull.count);
    return {begin, std::max(begin, end)};
}

}  // namespace

void Pulls::ask(const WorkerPtr& worker, uint64_t clock, uint64_t own) {
    Request& request = worker->queue.front();
    request.pull = std::make_shared<Pull>();
    Pull& pull = *request.pull;
    pull.clock = clock;
    pull.own = own;
    pull.first = request.first;
    pull.count = request.elements;
    pull.buffers = request.buffers;
    asked_[worker->rank] = {worker, request.pull};
    tell(worker->rank, pull);
}

Pulls::Found Pulls::find(control::Rank rank) const {
    const auto asked = asked_.find(rank);
    if (asked == asked_.end()) return {};
    return {asked->second.worker.lock(), asked->second.pull.lock()};
}

bool Pulls::is_writing(control::Rank rank) const {
    const auto pull = find(rank).pull;
    return pull && pull->writing;
}

void Pulls::forget(control::Rank rank) {
    if (const auto pull = find(rank).pull; pull && pull->writing) pull->writing->stop();
    asked_.erase(rank);
}

void Pulls::tell(control::Rank rank, const Pull& pull) const {
    job_.services.control.send(control::ServerAsked{job_.id, host_.generation(), rank, pull.clock,
                                                    pull.own, pull.first, pull.count});
}

void Pulls::ask_again() {
    std::erase_if(asked_, [](const auto& asked) { return asked.second.pull.expired(); });
    for (const auto& [rank, asked] : asked_) {
        const auto pull = asked.pull.lock();
        if (pull->writing) continue;
        pull->came.clear();
        tell(rank, *pull);
    }
}

void Pulls::add(ShardHost::Part&& part) {
    const Found found = find(part.rank);
    Pull* const pull = found.pull.get();
    if (pull == nullptr || pull->clock != part.clock || pull->writing) return;
    const server::Partition partition = host_.partition();
    const server::Range range = wanted(*pull, partition.range(part.shard));
    // The part answers an earlier pull of this clock, of other elements.
    if (range.size() == 0 || part.elements.elements.size() != range.size()) return;
    if (pull->came.size() >= Pull::kPositionsMax && !pull->came.contains(part.position)) {
        if (part.position < pull->came.begin()->first) return;
        pull->came.erase(pull->came.begin());
    }
    Pull::Came& came = pull->came[part.position];
    if (!came.parts.try_emplace(part.shard, std::move(part.elements)).second) return;
    came.elements += range.size();
    if (came.elements >= pull->count) write(found, part.position, part.slowest);
}

void Pulls::write(const Found& found, uint64_t position, uint64_t slowest) {
    Pull& pull = *found.pull;
    struct Piece {
        uint64_t begin;  // in the buffers
        server::Floats floats;
    };
    std::vector<Piece> pieces;
    constexpr size_t kPieceFloats = kernels::Aside::kGrainBytes / sizeof(float);
    for (auto& [shard, floats] : pull.came[position].parts) {
        const uint64_t begin = wanted(pull, host_.partition().range(shard)).begin - pull.first;
        for (size_t from = 0; from < floats.elements.size(); from += kPieceFloats) {
            const size_t size = std::min(kPieceFloats, floats.elements.size() - from);
            pieces.push_back({begin + from, {floats.keep, floats.elements.subspan(from, size)}});
        }
    }
    tell_writing(found.worker->head().mark);
    pull.writing = std::make_shared<Writing>();
    pull.came.clear();
    const size_t count = pieces.size();
    auto told = scope_.callback(
        [this, rank = found.worker->rank, writing = pull.writing, position, slowest] {
            if (!writing->is_stopped()) written(rank, position, slowest);
        });
    aside_.run(
        2 * pull.count * sizeof(float), count, 1,
        [writing = pull.writing, buffers = pull.buffers,
         pieces = std::make_shared<const std::vector<Piece>>(std::move(pieces))](size_t from,
                                                                                 size_t to) {
            for (size_t i = from; i < to; ++i)
                writing->write([&] {
                    write_range(buffers, (*pieces)[i].begin, (*pieces)[i].floats.elements);
                });
        },
        std::move(told));
}

void Pulls::written(control::Rank rank, uint64_t position, uint64_t slowest) {
    const auto [worker, pull] = find(rank);
    if (!pull) return;
    tell_whole(worker->head().mark);
    asked_.erase(rank);
    done_(worker, position, slowest);
}

}  // namespace pace::daemon
