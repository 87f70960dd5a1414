// Serving: the model over views. What a new view means for it, and what becomes of this node's part
// of the model when something goes wrong, which only another view can mend.
#include <algorithm>
#include <utility>

#include "base/each_once.h"
#include "base/log/training_events.h"
#include "daemon/families/serving/serving.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Outcome;

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
    if (!missed) return part_failed(missed.error());
    learn_model(view);
    const auto awaited = host_.awaited_round();
    if (awaited && !fetches(view, *awaited)) {
        // The model was sent in the view before, if at all.
        part_failed(base::make_error(ErrorKind::aborted,
                                     "the model that a round of pace_broadcast assigns did not "
                                     "come"));
        return;
    }
    // A node that keeps no shards may have missed more of the order than it is told. Then others
    // have already said what this node would say again.
    const bool knows_order = position + missed->size() == view.ledger.position;
    std::vector<NodeId> nodes = nodes_of_model(view);
    mail_.open(job_.token, view.epoch, nodes);
    heard(*missed);
    if (!knows_order) given_.keep_silent();
    given_.tell_again();
    pushes_.commit(anew && !first);
    // A lost model begins anew with zeros, which nobody is to get.
    if (!standings_.is_lost()) pulls_.ask_again();
    saving_.commit(std::move(nodes));
    go_on(anew && view.saved_generation != 0, first);
}

// What workers have called goes on in the new view, as far as it can. `restored`: the model is that
// of a checkpoint again. `first`: it is the first model that this node hears of.
void Serving::go_on(bool restored, bool first) {
    // A worker whose request is ended here may make its next call at once.
    const auto workers = job_.workers;
    for (const auto& [rank, worker] : workers) {
        if (standings_.is_lost()) end_asides(worker, ended_as(Outcome::stale, Standings::kLost));
        if (!job_.view.contains(rank)) continue;
        pushes_.set_step(*worker);
        if (restored) {
            roll_back(worker, first);
        } else {
            queue_.go_on(worker);
            pull_calls_.resume(worker);
        }
    }
}

// The worker's clock is that of a checkpoint, and so is the model. Requests under way were for
// another model; and the trainer may make its next call without knowing of the change.
void Serving::roll_back(const WorkerPtr& worker, bool first) {
    if (pull_calls_.goes_on_restored(worker, first)) return;
    const Ending ending = ended_as(Outcome::stale, Standings::kRestored);
    const bool pulls = worker->state == Worker::State::pulling;
    standings_.roll_back(worker->rank);
    end_asides(worker, ending);
    if (pulls) job_.end_head(worker, ending);
}

// Takes over what the view says of the model as a whole.
void Serving::learn_model(const control::CommitView& view) {
    if (view.generation != generation_) given_.begin_anew();
    generation_ = view.generation;
    letters_.begin_view(view.ledger.position);
    standings_.reset_no_room();
    standings_.set_lost(view.model_lost);  // the same at all nodes
    if (view.model_lost)
        base::log_event(base::events::kModelLost,
                        {{"job", job_.options.name}, {"reason", Standings::kLost}});
}

// The nodes with members, and those that keep shards.
std::vector<NodeId> Serving::nodes_of_model(const control::CommitView& view) const {
    std::vector<NodeId> nodes = job_.view.nodes();
    nodes.insert(nodes.end(), view.shards.begin(), view.shards.end());
    base::sort_each_once(nodes);
    return nodes;
}

void Serving::load(uint32_t shard, uint64_t generation, uint64_t position) {
    saving_.load(
        shard, generation, position,
        [this, shard, model = host_.generation()](Result<server::ReadCheckpoint> read) {
            if (host_.generation() != model) return;
            check(read ? host_.loaded(shard, std::move(read->shard)) : Result<>(read.error()));
        });
}

void Serving::letters_broken(NodeId node, const base::Error& error) {
    // The controller knows of a cut, and what to do about it.
    if (job_.services.peers.is_cut(node)) return;
    base::log_event(base::events::kLettersBroken, {{"job", job_.options.name},
                                                   {"peer", job_.services.peers.name(node)},
                                                   {"reason", error.message}});
    job_.wants_view = true;
}

void Serving::check(const Result<>& result) {
    if (!result) part_failed(result.error());
}

void Serving::part_failed(const base::Error& error) {
    base::log_event(base::events::kModelPartGivenUp,
                    {{"job", job_.options.name}, {"reason", error.message}});
    give_up();
}

// Handles the error as if commit(), or another call, had returned it.
void Serving::failed_late(const base::Error& error) {
    if (error.kind == ErrorKind::memory)
        has_no_room(error);
    else
        part_failed(error);
}

// This node's part of the model is of no use. The node serves nothing until another view has found
// that, and begun the model anew.
void Serving::give_up() {
    host_.forget();
    mail_.close(base::make_error(ErrorKind::aborted, "this node's part of the model is of no use"));
    job_.wants_view = true;
}

// This node's workers get the reason. For other nodes the model is lost, as the next view finds.
void Serving::has_no_room(const base::Error& error) {
    if (!standings_.no_room())
        base::log_event(base::events::kShardNotKept,
                        {{"job", job_.options.name}, {"reason", error.message}});
    standings_.set_no_room(error);
    host_.forget();
    job_.wants_view = true;
    const auto workers = job_.workers;
    for (const auto& [rank, worker] : workers) {
        pulls_.forget(rank);
        end_asides(worker, failed(error));
        if (worker->state == Worker::State::pulling) job_.end_head(worker, failed(error));
    }
}

}  // namespace pace::daemon
