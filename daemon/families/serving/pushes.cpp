#include "daemon/families/serving/pushes.h"

#include <algorithm>
#include <utility>

#include "base/log/training_events.h"
#include "base/threads/release_thread.h"
#include "daemon/control/controller.h"
#include "daemon/members/model_range.h"
#include "daemon/members/paid_update.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using server::HybridVector;

bool Pushes::has_room(control::Rank rank) const {
    const auto out = out_.find(rank);
    return out == out_.end() || out->second.unordered.size() < kWindow;
}

uint64_t Pushes::next_clock(control::Rank rank) const {
    const auto out = out_.find(rank);
    return out == out_.end() ? 0 : out->second.next;
}

std::vector<NodeId> Pushes::missing(control::Rank rank) const {
    std::vector<NodeId> nodes;
    const auto out = out_.find(rank);
    if (out == out_.end()) return nodes;
    for (const auto& [clock, push] : out->second.unordered) {
        for (uint32_t shard = 0; shard < push.held.size(); ++shard) {
            const NodeId node = host_.places()[shard];
            if (!push.held[shard] && std::find(nodes.begin(), nodes.end(), node) == nodes.end())
                nodes.push_back(node);
        }
    }
    return nodes;
}

namespace {

// Cuts an update by shard. A shard for which the update has nothing gets an empty part.
Result<std::vector<HybridVector>> cut(const Request& request, const server::Partition& partition,
                                      uint64_t elements) {
    std::vector<HybridVector> parts;
    parts.reserve(partition.shards());
    for (uint32_t shard = 0; shard < partition.shards(); ++shard)
        parts.emplace_back(partition.range(shard).size());
    if (request.sparse) {
        PACE_TRY_ASSIGN(all, entries_of(request, elements));
        for (size_t i = 0; i < all.indices.size();) {
            const uint32_t shard = partition.shard_of(all.indices[i]);
            const server::Range range = partition.range(shard);
            sparse::Entries entries;
            for (; i < all.indices.size() && all.indices[i] < range.end; ++i)
                entries.push_back(static_cast<uint32_t>(all.indices[i] - range.begin),
                                  all.values[i]);
            parts[shard] = HybridVector::of(range.size(), std::move(entries));
        }
        return parts;
    }
    PACE_TRY(check_range(request, elements));
    for (uint32_t shard = 0; shard < partition.shards(); ++shard) {
        const server::Range range = partition.range(shard);
        const uint64_t begin = std::max<uint64_t>(range.begin, request.first);
        const uint64_t end = std::min<uint64_t>(range.end, request.first + request.elements);
        if (begin >= end) continue;
        std::vector<float> part(range.size(), 0.0F);
        read_range(request.buffers, begin - request.first,
                   std::span(part).subspan(begin - range.begin, end - begin));
        parts[shard] = HybridVector::of(part);
    }
    return parts;
}

// At most so much memory is touched to take the update: the update itself a few times, and the
// values that wait to be sent.
size_t bytes_of(const Request& request, const control::JobOptions& options) {
    const size_t own = request.sparse ? request.entries * 2 : request.elements;
    return (3 * own + (options.filter > 0 ? options.elements : 0)) * sizeof(float);
}

}  // namespace

Pushes::Out& Pushes::out_of(control::Rank rank) {
    const auto [out, is_new] = out_.try_emplace(rank);
    if (is_new) out->second.life = ++lives_;
    return out->second;
}

void Pushes::take(control::Rank rank, std::shared_ptr<const Request> request, Taken taken) {
    Out& out = out_of(rank);
    const uint64_t clock = request->iteration;
    if (clock < out.next) {
        taken(false);
        return;
    }
    const auto parts = std::make_shared<Result<Updates>>(Updates());
    const size_t bytes = bytes_of(*request, job_.options);
    strand_.run(
        bytes,
        [parts, request = std::move(request), partition = host_.partition(), waiting = out.waiting,
         elements = job_.options.elements, payer = job_.payer(),
         filter = static_cast<float>(std::max(job_.options.filter, 0.0))] {
            auto whole = cut(*request, partition, elements);
            if (!whole) {
                *parts = whole.error();
                return;
            }
            for (size_t shard = 0; shard < whole->size(); ++shard) {
                HybridVector& part = (*whole)[shard];
                if (waiting->size() == shard) waiting->emplace_back(part.length(), filter);
                (*parts)->push_back(paid_update((*waiting)[shard].pass(std::move(part)), payer));
            }
        },
        [this, rank, clock, life = out.life, parts,
         taken = std::move(taken)](const Result<>& memory) {
            if (!memory)
                taken(memory.error());
            else if (!*parts)
                taken(parts->error());
            else
                taken(keep(rank, life, clock, std::move(**parts)));
        });
}

Result<bool> Pushes::keep(control::Rank rank, uint64_t life, uint64_t clock, Updates parts) {
    const auto found = out_.find(rank);
    if (found == out_.end() || found->second.life != life || parts.size() != host_.places().size())
        return base::make_error(ErrorKind::aborted, "the worker begins anew");
    Out& out = found->second;
    if (clock < out.next) return false;
    Push push;
    push.parts = std::move(parts);
    push.held.assign(push.parts.size(), false);
    push.missing = push.parts.size();
    push.number = ++pushes_;
    out.next = clock + 1;
    Push& kept = out.unordered[clock];
    kept = std::move(push);
    send(rank, clock, kept);
    return true;
}

void Pushes::send(control::Rank rank, uint64_t clock, Push& push) {
    const uint64_t generation = host_.generation();
    for (uint32_t shard = 0; shard < push.parts.size(); ++shard) {
        if (push.held[shard]) continue;
        if (host_.keeps(shard)) {
            host_.hold(shard, rank, clock, push.parts[shard]);
            if (host_.generation() != generation) return;  // host_ has given up the model
            push.held[shard] = true;
            --push.missing;
            continue;
        }
        server::Letter letter;
        letter.kind = server::LetterKind::update;
        letter.shard = shard;
        letter.rank = rank;
        letter.generation = host_.generation();
        letter.clock = clock;
        letter.position = push.number;
        post(letter, push.parts[shard]);
    }
    if (!job_.options.unsynchronized)
        tell_held(rank);
    else if (!push.ordered)
        tell(rank, clock);
}

void Pushes::post(server::Letter letter, const server::Shard::Update& update) {
    if (update->is_dense()) {
        const auto bytes = server::name_elements(update->elements(), letter);
        mail_.send(host_.places()[letter.shard], letter, {update, bytes});
        return;
    }
    struct Coded {
        server::Letter letter;
        std::vector<std::byte> bytes;
    };
    const auto coded = std::make_shared<Coded>(Coded{letter, {}});
    strand_.run(
        2 * update->bytes(),
        [coded, update] { coded->bytes = server::write_elements(*update, coded->letter); },
        [this, coded, bytes = update->bytes(), epoch = job_.view.epoch](const Result<>& memory) {
            if (!memory)
                base::log_event(base::events::kUpdateWithoutMemory, {{"job", job_.options.name},
                                                                     {"rank", coded->letter.rank},
                                                                     {"clock", coded->letter.clock},
                                                                     {"bytes", bytes}});
            if (!memory) job_.wants_view = true;
            // A view that has committed since sends the update again, if it is still to be sent.
            if (!memory || epoch != job_.view.epoch || !awaits(coded->letter)) return;
            const size_t size = coded->bytes.size();
            const auto sent = base::released(std::move(coded->bytes), size);
            mail_.send(host_.places()[coded->letter.shard], coded->letter, {sent, *sent});
        });
}

// Whether the update is not held yet, of this model, and of a worker that is still there.
bool Pushes::awaits(const server::Letter& letter) const {
    const auto out = out_.find(letter.rank);
    if (letter.generation != host_.generation() || out == out_.end()) return false;
    const auto push = out->second.unordered.find(letter.clock);
    return push != out->second.unordered.end() && push->second.number == letter.position &&
           !push->second.held[letter.shard];
}

// Tells the controller in order: after an update that it is told of, it takes none from before.
void Pushes::tell_held(control::Rank rank) const {
    for (const auto& [clock, push] : out_.at(rank).unordered) {
        if (push.ordered) continue;
        if (push.missing != 0) return;
        tell(rank, clock);
    }
}

void Pushes::tell(control::Rank rank, uint64_t clock) const {
    job_.services.control.send(control::ServerStored{job_.id, host_.generation(), rank, clock});
}

void Pushes::held(uint32_t shard, control::Rank rank, uint64_t clock, uint64_t number) {
    const auto out = out_.find(rank);
    if (out == out_.end()) return;
    const auto push = out->second.unordered.find(clock);
    if (push == out->second.unordered.end() || push->second.number != number ||
        shard >= push->second.held.size() || push->second.held[shard])
        return;
    push->second.held[shard] = true;
    if (--push->second.missing != 0) return;
    if (push->second.ordered) {
        out->second.unordered.erase(push);
    } else if (!job_.options.unsynchronized) {
        tell_held(rank);
    }
}

void Pushes::ordered(const control::ServerEntry& entry) {
    const control::Rank rank = entry.worker.rank;
    if (entry.step == control::ServerStep::join && job_.find(rank)) {
        // The worker begins at this step, wherever a predecessor of that rank was.
        Out& out = out_of(rank);
        out.life = ++lives_;
        out.unordered.clear();
        out.next = entry.worker.clock;
    }
    const auto out = out_.find(rank);
    if (entry.step != control::ServerStep::push || out == out_.end()) return;
    const auto push = out->second.unordered.find(entry.clock);
    if (push == out->second.unordered.end()) return;
    push->second.ordered = true;
    if (push->second.missing == 0) out->second.unordered.erase(push);
}

void Pushes::forget(control::Rank rank) {
    out_.erase(rank);
}

void Pushes::drop_taking(control::Rank rank) {
    const auto out = out_.find(rank);
    if (out == out_.end()) return;
    out->second.life = ++lives_;
    out->second.waiting = std::make_shared<Waiting::element_type>();
}

void Pushes::commit(bool anew) {
    const auto& workers = host_.ledger().workers;
    std::erase_if(out_, [this](const auto& out) { return !job_.find(out.first); });
    for (const auto& [rank, worker] : job_.workers) {
        // Another node's worker of this rank.
        if (job_.view.node_of(rank) != job_.services.self) continue;
        Out& out = out_of(rank);
        if (anew) {
            out.life = ++lives_;
            out.unordered.clear();
            out.waiting = std::make_shared<Waiting::element_type>();
        }
        const auto known = workers.find(rank);
        if (known != workers.end()) {
            out.next = anew ? known->second.clock : std::max(out.next, known->second.clock);
            // The updates below have been ordered, in a view that this node was not in.
            const auto ordered = out.unordered.lower_bound(known->second.clock);
            for (auto push = out.unordered.begin(); push != ordered; ++push)
                push->second.ordered = true;
            const bool all_held = !job_.options.unsynchronized;
            std::erase_if(out.unordered, [all_held](const auto& push) {
                return push.second.ordered && (push.second.missing == 0 || all_held);
            });
        }
        for (auto& [clock, push] : out.unordered) send(rank, clock, push);
    }
}

}  // namespace pace::daemon
