#include "daemon/families/serving/letter_roles.h"

#include <algorithm>
#include <vector>

namespace pace::daemon {

using base::Result;
using server::Letter;
using server::LetterKind;

namespace {

template <typename... Args>
base::Error wrong(fmt::format_string<Args...> text, Args&&... args) {
    return base::make_error(base::ErrorKind::corrupt, text, std::forward<Args>(args)...);
}

}  // namespace

Result<> LetterRoles::check(NodeId from, const Letter& letter) const {
    if (letter.shard >= host_.places().size()) return wrong("there is no shard {}", letter.shard);
    switch (letter.kind) {
        case LetterKind::update:
            return check_update(from, letter);
        case LetterKind::held:
            PACE_TRY(check_place(from, letter));
            PACE_TRY(check_worker(job_.services.self, letter));
            return check_answer(letter);
        case LetterKind::part:
            return check_part(from, letter);
        case LetterKind::model:
            return check_model(from, letter);
        case LetterKind::checkpoint:
            return check_place(from, letter);
        case LetterKind::kept:
            return check_kept(letter);
    }
    return wrong("a letter is of no kind");
}

Result<> LetterRoles::check_answer(const Letter& letter) const {
    if (letter.sparse || letter.count != 0 || letter.bytes != 0)
        return wrong("an answer about shard {} has elements", letter.shard);
    return {};
}

// The letter's worker is a member on that node.
Result<> LetterRoles::check_worker(NodeId node, const Letter& letter) const {
    if (job_.view.node_of(letter.rank) == node) return {};
    return wrong("worker {} is not on {}", letter.rank,
                 node == job_.services.self ? "this node" : "the node that speaks for it");
}

// The sender keeps the letter's shard.
Result<> LetterRoles::check_place(NodeId from, const Letter& letter) const {
    if (host_.places()[letter.shard] == from) return {};
    return wrong("shard {} is on another node than the one that speaks for it", letter.shard);
}

Result<> LetterRoles::check_update(NodeId from, const Letter& letter) const {
    if (!host_.keeps(letter.shard)) return wrong("shard {} is not here", letter.shard);
    PACE_TRY(check_worker(from, letter));
    const size_t length = host_.partition().range(letter.shard).size();
    if (letter.sparse ? letter.count > length : letter.count != length)
        return wrong("an update has {} elements for a shard of {}", letter.count, length);
    const uint64_t known = std::max(host_.ledger().fastest, host_.next_clock(letter.rank));
    if (letter.clock > known && letter.clock - known > kClocksAhead)
        return wrong("worker {} has an update of clock {}, and the greatest clock is {}",
                     letter.rank, letter.clock, known);
    return {};
}

Result<> LetterRoles::check_part(NodeId from, const Letter& letter) const {
    PACE_TRY(check_place(from, letter));
    PACE_TRY(check_worker(job_.services.self, letter));
    const size_t length = host_.partition().range(letter.shard).size();
    if (letter.sparse || letter.count > length)
        return wrong("a part of shard {} has {} elements of {}", letter.shard, letter.count,
                     length);
    return {};
}

// The first node with a worker sends the model to nodes that keep shards and have no worker.
Result<> LetterRoles::check_model(NodeId from, const Letter& letter) const {
    if (!host_.keeps(letter.shard)) return wrong("shard {} is not here", letter.shard);
    const std::vector<NodeId> nodes = job_.view.nodes();
    if (nodes.empty() || nodes.front() != from || job_.view.contains_node(job_.services.self))
        return wrong("the model of a round comes from a node that is not to send it");
    const size_t length = host_.partition().range(letter.shard).size();
    if (letter.sparse || letter.count != length)
        return wrong("a model has {} elements for a shard of {}", letter.count, length);
    return {};
}

Result<> LetterRoles::check_kept(const Letter& letter) const {
    PACE_TRY(check_answer(letter));
    if (!host_.keeps(letter.shard)) return wrong("shard {} is not here", letter.shard);
    if (letter.position > host_.ledger().position)
        return wrong("a copy of position {} is said to be kept, and the order is at {}",
                     letter.position, host_.ledger().position);
    if (letter.rank > 1) return wrong("a copy is neither kept nor not kept");
    return {};
}

}  // namespace pace::daemon
