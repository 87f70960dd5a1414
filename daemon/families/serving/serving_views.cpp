// Serving: what changes of the view, the order, and rounds of pace_broadcast mean for a server
// job's model.
#include <algorithm>
#include <utility>

#include "base/each_once.h"
#include "base/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/families/serving/serving.h"
#include "daemon/members/model_range.h"
#include "daemon/runtime/memory_room.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Outcome;
using protocol::Verb;
using server::Letter;
using server::LetterKind;

// Whether this node took part in the round, and now gets its result from another node.
bool Serving::fetches(const control::CommitView& view, uint64_t round) const {
    const bool behind =
        std::find(view.behind.begin(), view.behind.end(), job_.services.self) != view.behind.end();
    return behind && round + 1 == view.base_round;
}

void Serving::commit(const control::CommitView& view) {
    if (view.generation == 0) return;
    const bool anew = view.generation != generation_;
    const bool first = generation_ == 0;
    const uint64_t position = host_.ledger().position;
    auto missed = host_.commit(view, job_.services.self);
    if (!missed && missed.error().kind != ErrorKind::internal) return has_no_room(missed.error());
    if (!missed) return check(missed.error());
    learn_model(view);
    const auto awaited = host_.awaited_round();
    if (awaited && !fetches(view, *awaited)) {
        // The model was sent in the view before, if at all.
        check(base::make_error(ErrorKind::aborted,
                               "the model that a round of pace_broadcast assigns did not come"));
        return;
    }
    // A node that keeps no shards may have missed more of the order than it is told. Then others
    // have already said what this node would say again.
    const bool knows_order = position + missed->size() == view.ledger.position;
    std::vector<NodeId> nodes = nodes_of_model(view);
    mail_.open(job_.token, view.epoch, nodes);
    heard(*missed);
    if (!knows_order) assigning_.reset();
    if (assigning_) tell_assigning();
    pushes_.commit(anew && !first);
    // A lost model begins anew with zeros, which nobody is to get.
    if (!lost_) pulls_.ask_again();
    saving_.commit(std::move(nodes));
    const bool restored = anew && view.saved_generation != 0;
    // A worker whose request is ended here may make its next call at once.
    const auto workers = job_.workers;
    for (const auto& [rank, worker] : workers) {
        if (lost_) end_asides(worker, ended_as(Outcome::stale, kLost));
        if (!job_.view.contains(rank)) continue;
        if (restored)
            roll_back(worker, first);
        else
            resume(worker);
    }
}

// Takes over what the view says of the model as a whole.
void Serving::learn_model(const control::CommitView& view) {
    const bool anew = view.generation != generation_;
    generation_ = view.generation;
    view_position_ = view.ledger.position;
    if (anew) assigning_.reset();
    if (anew) assigned_.reset();
    no_room_.reset();
    lost_ = view.model_lost;  // the same at all nodes, which must agree on who broadcasts
    if (lost_)
        base::log_event(base::events::kModelLost, {{"job", job_.options.name}, {"reason", kLost}});
    if (lost_) rolled_back_.clear();
}

// The nodes with members, and those that keep shards.
std::vector<NodeId> Serving::nodes_of_model(const control::CommitView& view) const {
    std::vector<NodeId> nodes = job_.view.nodes();
    nodes.insert(nodes.end(), view.shards.begin(), view.shards.end());
    base::sort_each_once(nodes);
    return nodes;
}

// What the member waits for goes on in the new view. A pull of a lost model does not.
void Serving::resume(const WorkerPtr& worker) {
    learn_step(*worker);
    try_pushes(worker);
    if (worker->state != Worker::State::pulling) return;
    if (!lost_) {
        if (!pulls_.asks(worker->rank)) ask_if_fits(worker);
        return;
    }
    // The worker has the model nearly whole, which is better than half.
    if (pulls_.is_writing(worker->rank)) return;
    lose_pull(worker);
}

void Serving::lose_pull(const WorkerPtr& worker) {
    pulls_.forget(worker->rank);
    if (worker->head().verb != Verb::broadcast) {
        job_.end_head(worker, ended_as(Outcome::stale, kLost));
        return;
    }
    // From now on the request waits for a round.
    if (awaits_root(*worker)) return;
    worker->state = Worker::State::idle;
    job_.port->advance(worker);
}

// This node's workers get the reason. For other nodes the model is lost, as the next view finds.
void Serving::has_no_room(const base::Error& error) {
    if (!no_room_)
        base::log_event(base::events::kShardNotKept,
                        {{"job", job_.options.name}, {"reason", error.message}});
    no_room_ = error;
    host_.forget();
    job_.wants_view = true;
    const auto workers = job_.workers;
    for (const auto& [rank, worker] : workers) {
        pulls_.forget(rank);
        end_asides(worker, failed(error));
        if (worker->state == Worker::State::pulling) job_.end_head(worker, failed(error));
    }
}

// The worker's clock is that of a checkpoint, and so is the model. Requests under way were for
// another model; and the trainer may make its next call without knowing of the change.
void Serving::roll_back(const WorkerPtr& worker, bool first) {
    const control::Rank rank = worker->rank;
    learn_step(*worker);
    pulls_.forget(rank);
    const bool pulls = worker->state == Worker::State::pulling;
    // If this is the first model that this node hears of, its trainers need not be told. A pull for
    // a later step is an exception: its trainer knew another model.
    const bool knows = first && pulls && worker->head().iteration <= pushes_.next_clock(rank);
    if (pulls && ((joins(*worker) && !has_fallen_behind(*worker)) || knows)) {
        rolled_back_.erase(rank);
        ask(worker);
        return;
    }
    rolled_back_.insert(rank);
    end_asides(worker, ended_as(Outcome::stale, kRestored));
    if (pulls) job_.end_head(worker, ended_as(Outcome::stale, kRestored));
}

void Serving::order(const control::ServerOrder& order) {
    if (order.generation != host_.generation()) return;
    std::vector<control::ServerEntry> news;
    const auto result = host_.hear(order.entries, news);
    heard(news);
    for (const control::ServerEntry& entry : news)
        if (entry.step == control::ServerStep::pull) expect_parts(entry);
    check(result);
}

void Serving::heard(const std::vector<control::ServerEntry>& entries) {
    for (const control::ServerEntry& entry : entries) {
        pushes_.ordered(entry);
        if (entry.step == control::ServerStep::assign) assigned(entry.clock);
        const WorkerPtr worker = job_.find(entry.worker.rank);
        if (worker && entry.step == control::ServerStep::push) try_pushes(worker);
    }
}

// Each of the other nodes sends its shards of what a worker here has asked for, even if the worker
// does not wait any more.
void Serving::expect_parts(const control::ServerEntry& entry) {
    if (job_.view.node_of(entry.worker.rank) != job_.services.self) return;
    const WorkerPtr worker = job_.find(entry.worker.rank);
    if (worker && worker->state == Worker::State::pulling)
        worker->times.begin_exchange(base::now());
    for (uint32_t shard = 0; shard < host_.places().size(); ++shard) {
        const server::Range range = host_.partition().range(shard);
        const bool wanted = std::max<uint64_t>(range.begin, entry.first) <
                            std::min<uint64_t>(range.end, entry.first + entry.count);
        if (wanted) mail_.expect(host_.places()[shard]);
    }
}

// There is a model, also for workers that were waiting to broadcast one.
void Serving::assigned(uint64_t round) {
    assigned_ = std::max(round, assigned_.value_or(round));
    if (assigning_ && round >= *assigning_) assigning_.reset();
    if (!std::exchange(lost_, false)) return;
    for (const auto& [rank, worker] : job_.workers)
        if (worker->state == Worker::State::pulling && job_.view.contains(rank) &&
            !pulls_.asks(rank))
            ask_if_fits(worker);
}

control::ServerReport Serving::report() {
    control::ServerReport report = host_.report();
    report.saved = saving_.listed();
    report.model_lost = lost_;
    return report;
}

void Serving::check(const Result<>& result) {
    if (result) return;
    base::log_event(base::events::kModelPartGivenUp,
                    {{"job", job_.options.name}, {"reason", result.error().message}});
    give_up();
}

// Handles the error as if commit(), or another call, had returned it.
void Serving::failed_late(const base::Error& error) {
    if (error.kind == ErrorKind::memory)
        has_no_room(error);
    else
        check(error);
}

// This node's part of the model is of no use. The node serves nothing until another view has found
// that, and begun the model anew.
void Serving::give_up() {
    host_.forget();
    mail_.close(base::make_error(ErrorKind::aborted, "this node's part of the model is of no use"));
    job_.wants_view = true;
}

// --------------------------------------------------------------------------------- the first model

bool Serving::is_model(const std::vector<BufferPtr>& buffers) const {
    uint64_t elements = 0;
    for (const BufferPtr& buffer : buffers) {
        if (buffer->dtype != protocol::DType::f32) return false;
        elements += buffer->count;
    }
    return elements == job_.options.elements;
}

std::shared_ptr<Scratch> Serving::place_for_model(const std::vector<BufferPtr>& buffers) {
    if (!is_model(buffers) || !has_view()) return nullptr;
    if (!gives_any()) return nullptr;
    auto place = std::make_shared<Scratch>();
    const size_t bytes = job_.options.elements * sizeof(float);
    const bool has_room =
        check_memory_room("a model", bytes, memory_room()) && place->reserve(bytes, job_.payer());
    return has_room ? place : nullptr;
}

void Serving::broadcasted(uint64_t round, const std::vector<BufferPtr>& buffers,
                          const std::shared_ptr<Scratch>& copy) {
    if (!is_model(buffers) || !has_view()) return;
    // There was no room for a copy. A copy of a small model is made now.
    const size_t bytes = job_.options.elements * sizeof(float);
    if (!copy && gives_any() && !job_.services.aside().is_little(2 * bytes)) {
        has_no_room(base::make_error(
            ErrorKind::memory, "there is no room for a copy of the {} bytes of a model", bytes));
        return;
    }
    lost_ = false;
    unaware_.clear();
    give_model(round, buffers, copy);
    // If it were said again, it would mean a model that no node holds any more.
    if (assigned_ && round <= *assigned_) return;
    assigning_ = round;
    tell_assigning();
}

void Serving::tell_assigning() {
    job_.services.control->send(control::ServerAssigned{job_.id, host_.generation(), *assigning_});
}

// Every node with a worker has the model. The first of them sends it to nodes that keep shards and
// have no worker.
bool Serving::gives_model(uint32_t shard) const {
    if (host_.keeps(shard)) return true;
    const std::vector<NodeId> nodes = job_.view.nodes();
    const NodeId node = host_.places()[shard];
    return !nodes.empty() && nodes.front() == job_.services.self &&
           std::find(nodes.begin(), nodes.end(), node) == nodes.end();
}

bool Serving::gives_any() const {
    for (uint32_t shard = 0; shard < host_.places().size(); ++shard)
        if (gives_model(shard)) return true;
    return false;
}

void Serving::give_model(uint64_t round, const std::vector<BufferPtr>& buffers,
                         const std::shared_ptr<Scratch>& copy) {
    for (uint32_t shard = 0; shard < host_.places().size(); ++shard) {
        if (!gives_model(shard)) continue;
        const server::Range range = host_.partition().range(shard);
        server::Floats model;
        if (copy) {
            const auto* const all = reinterpret_cast<const float*>(copy->data());
            model = {copy,
                     std::span(all, job_.options.elements).subspan(range.begin, range.size())};
        } else {
            std::vector<float> elements(range.size());
            read_range(buffers, range.begin, elements);
            model = server::Floats::of(std::move(elements));
        }
        if (host_.keeps(shard)) {
            check(host_.hold_model(shard, round, std::move(model)));
            continue;
        }
        Letter letter;
        letter.kind = LetterKind::model;
        letter.shard = shard;
        letter.generation = host_.generation();
        letter.clock = round;
        const auto bytes = server::name_elements(model.elements, letter);
        mail_.send(host_.places()[shard], letter, {model.keep, bytes});
    }
}

}  // namespace pace::daemon
