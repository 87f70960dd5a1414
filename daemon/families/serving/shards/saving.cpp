#include "daemon/families/serving/shards/saving.h"

#include <algorithm>
#include <utility>

#include "base/log/training_events.h"
#include "base/threads/release_thread.h"
#include "daemon/control/controller.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using server::CheckpointName;
using server::Letter;
using server::LetterKind;

namespace {

// In a letter that answers a copy.
constexpr uint32_t kNotKept = 1;

}  // namespace

Saving::Saving(JobState& job, const ShardHost& host, ServerMail& mail, Ended ended)
    : job_(job),
      host_(host),
      mail_(mail),
      ended_(std::move(ended)),
      disk_(job.services, job.options, job.uid),
      copies_(job.options.checkpoint_copies) {}

// ---------------------------------------------------------------------------- what workers ask for

void Saving::ask(const WorkerPtr& worker, Request request, uint64_t own) {
    asked_[worker->rank].push_back({worker, std::move(request), own});
    tell_asked(worker->rank);
}

// The controller knows only the last request, whose checkpoint has the updates of the others.
void Saving::tell_asked(control::Rank rank) const {
    const auto asked = asked_.find(rank);
    if (asked == asked_.end() || asked->second.empty() || host_.generation() == 0) return;
    job_.services.control.send(
        control::CheckpointAsked{job_.id, host_.generation(), rank, asked->second.back().own});
}

void Saving::lower(control::Rank rank, uint64_t own) {
    const auto asked = asked_.find(rank);
    if (asked == asked_.end() || asked->second.empty() || asked->second.back().own <= own) return;
    for (Asked& one : asked->second) one.own = std::min(one.own, own);
    tell_asked(rank);
}

bool Saving::cancel(const WorkerPtr& worker, uint64_t id, const Ending& ending) {
    std::vector<Asked>& all = asked_[worker->rank];
    const auto found = std::find_if(all.begin(), all.end(),
                                    [id](const Asked& asked) { return asked.request.id == id; });
    if (found == all.end()) return false;
    const Asked canceled = std::move(*found);
    all.erase(found);
    ended_(worker, canceled.request, ending);
    return true;
}

void Saving::end_all(const WorkerPtr& worker, const Ending& ending) {
    for (const Asked& asked : std::exchange(asked_[worker->rank], {}))
        ended_(worker, asked.request, ending);
}

void Saving::ended(const control::CheckpointEnded& ended) {
    if (ended.generation != host_.generation()) return;
    copies_.ended(ended.position, ended.failure.empty());
    if (ended.failure.empty()) disk_.remove_before(ended.generation, ended.position);
    Ending ending;
    if (!ended.failure.empty())
        ending = failed(base::make_error(
            ErrorKind::disk, "the checkpoint at position {} failed: {}; older ones are left",
            ended.position, ended.failure));
    ending.group = ended.position;
    for (const auto& answer : ended.answers) {
        const auto found = asked_.find(answer.rank);
        if (found == asked_.end()) continue;
        std::vector<Asked> rest;
        for (Asked& asked : std::exchange(found->second, {})) {
            if (asked.own <= answer.own) {
                ended_(asked.worker, asked.request, ending);
            } else {
                rest.push_back(std::move(asked));
            }
        }
        // A worker that was told may have called again.
        std::vector<Asked>& now = asked_[answer.rank];
        now.insert(now.begin(), std::make_move_iterator(rest.begin()),
                   std::make_move_iterator(rest.end()));
    }
}

void Saving::commit(std::vector<NodeId> nodes) {
    copies_.commit(std::move(nodes), host_.generation());
    for (const auto& [rank, asked] : asked_) tell_asked(rank);
}

void Saving::list(const std::function<void()>& listed) {
    disk_.list([this, listed](std::vector<control::SavedModel> models) {
        listed_ = std::move(models);
        listed();
    });
}

// ----------------------------------------------------------------------------- what the order says

void Saving::save(uint32_t shard, ShardHost::Copy copy, const server::Ledger& ledger) {
    server::Checkpoint about;
    about.job = job_.options.name;
    about.token = job_.token;
    about.generation = host_.generation();
    about.elements = job_.options.elements;
    about.shards = host_.partition().shards();
    about.shard = shard;
    about.ledger = ledger;
    if (!copy) {
        saved(about, copy.error());
        return;
    }
    disk_.save(
        about, std::move(*copy), copies_.keeper_of(job_.services.self) != 0,
        [this, about](Result<std::vector<std::byte>> file) { saved(about, std::move(file)); });
}

void Saving::saved(const server::Checkpoint& about, Result<std::vector<std::byte>> file) {
    const uint64_t position = about.ledger.position;
    if (about.generation != host_.generation()) return;
    if (!file) {
        base::log_event(base::events::kCheckpointFailed, {{"job", job_.options.name},
                                                          {"shard", about.shard},
                                                          {"position", position},
                                                          {"reason", file.error().message}});
        tell(about.shard, position, file.error().message);
        return;
    }
    const NodeId to = copies_.keeper_of(job_.services.self);
    if (to == 0 || file->empty()) {
        tell(about.shard, position, {});
        return;
    }
    Letter letter;
    letter.kind = LetterKind::checkpoint;
    letter.shard = about.shard;
    letter.generation = about.generation;
    letter.position = position;
    letter.bytes = file->size();
    const size_t bytes = file->size();
    const auto sent = base::released(std::move(*file), bytes);
    copies_.sent(to, about.shard, position);
    mail_.send(to, letter, {sent, *sent});
}

void Saving::tell(uint32_t shard, uint64_t position, const std::string& failure) {
    job_.services.control.send(
        control::ServerSaved{job_.id, host_.generation(), position, shard, failure});
}

Result<> Saving::check_copy(NodeId from, const Letter& letter) {
    return copies_.check(job_.services.self, from, letter.shard, letter.position);
}

void Saving::take_copy(NodeId from, const Letter& letter, Parcel file) {
    const CheckpointName name{letter.generation, letter.position, host_.partition().shards(),
                              letter.shard};
    disk_.keep(name, std::move(file),
               [this, from, letter](const Result<>& kept) { answer_copy(from, letter, kept); });
}

void Saving::refuse_copy(NodeId from, const Letter& letter, const base::Error& error) {
    answer_copy(from, letter, error);
}

void Saving::answer_copy(NodeId from, const Letter& letter, const Result<>& kept) {
    if (letter.generation != host_.generation()) return;
    if (!kept)
        base::log_event(base::events::kCheckpointCopyFailed,
                        {{"job", job_.options.name},
                         {"peer", job_.services.peers.name(from)},
                         {"reason", kept.error().message}});
    Letter answer = letter;
    answer.kind = LetterKind::kept;
    answer.bytes = 0;
    answer.rank = kept ? 0 : kNotKept;
    mail_.send(from, answer);
}

void Saving::took_copy(NodeId from, const Letter& letter) {
    if (!copies_.answered(from, letter.shard, letter.position)) return;
    tell(letter.shard, letter.position,
         letter.rank == kNotKept ? fmt::format("node '{}' could not keep a copy, its log says why",
                                               job_.services.peers.name(from))
                                 : std::string());
}

void Saving::load(uint32_t shard, uint64_t generation, uint64_t position,
                  ShardDisk::Loaded loaded) {
    disk_.load({generation, position, host_.partition().shards(), shard}, std::move(loaded));
}

}  // namespace pace::daemon
