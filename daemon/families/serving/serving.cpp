#include "daemon/families/serving/serving.h"

#include <algorithm>
#include <utility>

#include "base/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/members/model_range.h"
#include "daemon/members/paid_update.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Outcome;
using protocol::Verb;
using server::Letter;
using server::LetterKind;

namespace {

constexpr const char* kNew =
    "this worker is new in the job, or was taken out of it; call pace_broadcast or pace_pull for "
    "the current model and go on from info.iteration";

}  // namespace

Serving::Serving(JobState& job)
    : job_(job),
      host_(job.options.elements, job.options.unsynchronized, job.payer(),
            {[this](ShardHost::Part part) { deliver(std::move(part)); },
             [this](uint32_t shard, ShardHost::Copy copy, const server::Ledger& ledger) {
                 saving_.save(shard, std::move(copy), ledger);
             },
             [this](uint32_t shard, uint64_t generation, uint64_t position) {
                 load(shard, generation, position);
             },
             [this](const base::Error& error) { failed_late(error); }},
            job.services.aside()),
      mail_(
          job.services, job.options.elements, job.payer(),
          [this](NodeId from, const Letter& letter, Parcel parcel) {
              received(from, letter, std::move(parcel));
          },
          [this](NodeId from, const Letter& letter, const base::Error& error) {
              refused(from, letter, error);
          },
          [this](NodeId node, const base::Error& error) {
              // The controller knows of a cut, and what to do about it.
              if (job_.services.peers.is_cut(node)) return;
              base::log_event(base::events::kLettersBroken,
                              {{"job", job_.options.name},
                               {"peer", job_.services.peers.name(node)},
                               {"reason", error.message}});
              job_.wants_view = true;
          }),
      pushes_(job, host_, mail_),
      pulls_(job, host_,
             [this](const WorkerPtr& worker, uint64_t position, uint64_t slowest) {
                 pulled(worker, position, slowest);
             }),
      saving_(job, host_, mail_,
              [this](const WorkerPtr& worker, const Request& request, Ending ending) {
                  end_aside(worker, request, std::move(ending));
              }),
      reading_(job.services.aside()) {}

// Why a worker's call is not taken; null: it is taken.
const char* Serving::refusal(const Worker& worker) const {
    if (worker.newcomer) return kNew;
    if (lost_) return kLost;
    if (rolled_back_.contains(worker.rank)) return kRestored;
    if (unaware_.contains(worker.rank)) return kBeganAnew;
    return nullptr;
}

// ----------------------------------------------------------------------------------------- pushes

void Serving::push(const WorkerPtr& worker, Request request) {
    if (const char* reason = refusal(*worker)) {
        end_push(worker, request, ended_as(Outcome::stale, reason));
        return;
    }
    if (no_room_) {
        end_push(worker, request, failed(*no_room_));
        return;
    }
    waiting_[worker->rank].push_back(std::move(request));
    try_pushes(worker);
}

void Serving::try_pushes(const WorkerPtr& worker) {
    const control::Rank rank = worker->rank;
    if (!has_view() || job_.view.node_of(rank) != job_.services.self) return;
    std::deque<Request>& requests = waiting_[rank];
    while (!requests.empty() && !taking_.contains(rank) && pushes_.has_room(rank)) {
        const auto request = std::make_shared<const Request>(std::move(requests.front()));
        requests.pop_front();
        taking_[rank] = request;
        worker->times.begin_exchange(base::now());
        const auto at_once = std::make_shared<bool>(true);
        pushes_.take(rank, request, [this, worker, request, at_once](const Result<bool>& taken) {
            took(worker, request, taken);
            if (!*at_once) try_pushes(worker);
        });
        *at_once = false;
    }
}

void Serving::took(const WorkerPtr& worker, const RequestPtr& request, const Result<bool>& taken) {
    const auto taking = taking_.find(worker->rank);
    // The request was ended meanwhile.
    if (taking == taking_.end() || taking->second != request) return;
    taking_.erase(taking);
    if (!taken && taken.error().kind == ErrorKind::aborted) {
        waiting_[worker->rank].push_front(*request);
        worker->times.wait_again(base::now());
        return;
    }
    if (taken) ++worker->calls;
    Ending ending = taken ? Ending{} : failed(taken.error());
    ending.contributors = taken && *taken ? 1 : 0;
    end_push(worker, *request, ending);
}

// Sets the worker's step to that of its next update, which may be earlier than before.
void Serving::learn_step(Worker& worker) const {
    if (pushes_.knows(worker.rank)) worker.iteration = pushes_.next_clock(worker.rank);
}

// Ends a request that is not in the worker's queue.
void Serving::end_aside(const WorkerPtr& worker, const Request& request, Ending ending) const {
    worker->busy_since = base::now();
    if (worker->queue.empty()) worker->times.end(worker->busy_since);
    ending.iteration = worker->iteration;
    ending.queued_ns = base::now_ns() - request.submitted_ns;
    ++job_.services.counters.requests;
    if (ending.outcome == Outcome::failed) ++job_.services.counters.requests_failed;
    if (worker->port != nullptr) worker->port->request_ended(request.id, ending);
}

void Serving::end_push(const WorkerPtr& worker, const Request& request, const Ending& ending) {
    learn_step(*worker);
    end_aside(worker, request, ending);
    // A pull or a checkpoint after the push waits for an update that does not come.
    if (ending.outcome == Outcome::done) return;
    if (pulls_.asks(worker->rank) && !pulls_.is_writing(worker->rank)) ask(worker);
    saving_.lower(worker->rank, next_clock(worker->rank));
}

bool Serving::cancel(const WorkerPtr& worker, uint64_t id, const std::string& message) {
    if (saving_.cancel(worker, id, ended_as(Outcome::canceled, message))) return true;
    std::deque<Request>& requests = waiting_[worker->rank];
    const auto request = std::find_if(requests.begin(), requests.end(),
                                      [id](const Request& other) { return other.id == id; });
    if (request == requests.end()) return false;
    const Request canceled = std::move(*request);
    requests.erase(request);
    end_push(worker, canceled, ended_as(Outcome::canceled, message));
    return true;
}

void Serving::end_asides(const WorkerPtr& worker, const Ending& ending) {
    if (const auto taking = taking_.extract(worker->rank)) {
        // The trainer may change the buffers from now on.
        pushes_.drop_taking(worker->rank);
        end_push(worker, *taking.mapped(), ending);
    }
    for (const Request& request : std::exchange(waiting_[worker->rank], {}))
        end_push(worker, request, ending);
    saving_.end_all(worker, ending);
}

// ------------------------------------------------------------------------------------- checkpoints

void Serving::checkpoint(const WorkerPtr& worker, Request request) {
    if (const char* reason = refusal(*worker)) {
        end_aside(worker, request, ended_as(Outcome::stale, reason));
        return;
    }
    saving_.ask(worker, std::move(request), next_clock(worker->rank));
}

void Serving::load(uint32_t shard, uint64_t generation, uint64_t position) {
    saving_.load(
        shard, generation, position,
        [this, shard, model = host_.generation()](Result<server::ReadCheckpoint> read) {
            if (host_.generation() != model) return;
            check(read ? host_.loaded(shard, std::move(read->shard)) : Result<>(read.error()));
        });
}

// ----------------------------------------------------------------------------------- coming, going

void Serving::left(const Worker& worker) {
    pushes_.forget(worker.rank);
    pulls_.forget(worker.rank);
    saving_.forget(worker.rank);
    rolled_back_.erase(worker.rank);
    joining_.erase(worker.rank);
    unaware_.erase(worker.rank);
    waiting_.erase(worker.rank);
    taking_.erase(worker.rank);
}

void Serving::suspend(const WorkerPtr& worker, const std::string& reason) {
    pushes_.forget(worker->rank);
    pulls_.forget(worker->rank);
    rolled_back_.erase(worker->rank);  // the worker is to begin anew anyway
    joining_.erase(worker->rank);
    end_asides(worker, ended_as(Outcome::stale, reason));
}

void Serving::invalidate(const base::Error& error) {
    mail_.close(error);
}

void Serving::forget() {
    mail_.close(base::make_error(ErrorKind::canceled, "the job is over"));
    host_.forget();
    generation_ = 0;
}

// ----------------------------------------------------------------------------------------- letters

void Serving::deliver(ShardHost::Part part) {
    const NodeId node = job_.view.node_of(part.rank);
    if (node == job_.services.self) {
        pulls_.add(std::move(part));
        return;
    }
    // The view has had the worker ask again.
    if (part.position <= view_position_) return;
    Letter letter;
    letter.kind = LetterKind::part;
    letter.shard = part.shard;
    letter.rank = part.rank;
    letter.generation = host_.generation();
    letter.clock = part.clock;
    letter.position = part.position;
    letter.slowest = part.slowest;
    const auto bytes = server::name_elements(part.elements.elements, letter);
    mail_.send(node, letter, {part.elements.keep, bytes});
}

void Serving::received(NodeId from, const Letter& letter, Parcel parcel) {
    if (letter.generation != host_.generation()) return;
    const auto taken = take(from, letter, std::move(parcel));
    if (!taken) makes_no_sense(from, taken.error());
}

// This node has no memory for the letter's content. For a copy of a checkpoint, its user's account
// may be full instead. Sent again, the letter would find no more room.
void Serving::refused(NodeId from, const Letter& letter, const base::Error& error) {
    if (letter.generation != host_.generation()) return;
    if (letter.kind == LetterKind::checkpoint) {
        saving_.refuse_copy(from, letter, error);
        return;
    }
    if (letter.kind != LetterKind::part) {
        has_no_room(error);
        return;
    }
    const WorkerPtr worker = job_.find(letter.rank);
    if (!worker || worker->state != Worker::State::pulling || pulls_.is_writing(letter.rank) ||
        worker->head().iteration != letter.clock)
        return;
    pulls_.forget(letter.rank);
    job_.end_head(worker, failed(error));
}

void Serving::makes_no_sense(NodeId from, const base::Error& error) const {
    base::log_event(base::events::kLetterNonsense, {{"job", job_.options.name},
                                                    {"peer", job_.services.peers.name(from)},
                                                    {"reason", error.message}});
}

namespace {

// A letter's elements, in the memory that they came in.
Result<server::Floats> floats_of(const Letter& letter, size_t length, Parcel parcel) {
    const auto kept = std::make_shared<const Parcel>(std::move(parcel));
    PACE_TRY_ASSIGN(elements, server::read_floats(letter, length, kept->bytes));
    return server::Floats{kept, elements};
}

}  // namespace

Result<> Serving::take(NodeId from, const Letter& letter, Parcel parcel) {
    if (letter.shard >= host_.places().size())
        return base::make_error(ErrorKind::corrupt, "there is no shard {}", letter.shard);
    const size_t length = host_.partition().range(letter.shard).size();
    switch (letter.kind) {
        case LetterKind::held:
            pushes_.held(letter.shard, letter.rank, letter.clock, letter.position);
            // There may be room for another update now.
            if (const WorkerPtr worker = job_.find(letter.rank)) try_pushes(worker);
            return {};
        case LetterKind::part: {
            PACE_TRY_ASSIGN(values, floats_of(letter, letter.count, std::move(parcel)));
            pulls_.add({letter.shard, letter.rank, letter.clock, letter.position, letter.slowest,
                        std::move(values)});
            return {};
        }
        case LetterKind::checkpoint:
            saving_.take_copy(from, letter, std::move(parcel));
            return {};
        case LetterKind::kept:
            saving_.took_copy(from, letter);
            return {};
        case LetterKind::update:
        case LetterKind::model:
            break;
    }
    if (!host_.keeps(letter.shard))
        return base::make_error(ErrorKind::corrupt, "shard {} is not here", letter.shard);
    if (letter.kind == LetterKind::model) {
        PACE_TRY_ASSIGN(model, floats_of(letter, length, std::move(parcel)));
        check(host_.hold_model(letter.shard, letter.clock, std::move(model)));
        return {};
    }
    read_update(from, letter, std::move(parcel));
    return {};
}

void Serving::read_update(NodeId from, const Letter& letter, Parcel parcel) {
    struct Reading {
        Parcel parcel;
        Result<server::Shard::Update> update{base::out_of_memory()};
    };
    const auto reading = std::make_shared<Reading>();
    reading->parcel = std::move(parcel);
    const size_t length = host_.partition().range(letter.shard).size();
    reading_.run(
        2 * letter.bytes,
        [reading, letter, length, payer = job_.payer()] {
            auto read = server::read_vector(letter, length, reading->parcel.bytes);
            reading->update = read ? Result(paid_update(std::move(*read), payer))
                                   : Result<server::Shard::Update>(read.error());
        },
        [this, from, letter, reading, epoch = job_.view.epoch,
         leaves = host_.leaves_of(letter.rank)](const Result<>&) {
            // A view that has committed since has the update sent again.
            if (letter.generation != host_.generation() || epoch != job_.view.epoch ||
                !host_.keeps(letter.shard))
                return;
            // The update's worker is gone, and the next worker of that rank counts anew.
            if (leaves != host_.leaves_of(letter.rank)) return;
            if (!reading->update) return makes_no_sense(from, reading->update.error());
            hold(from, letter, std::move(*reading->update));
        });
}

void Serving::hold(NodeId from, const Letter& letter, server::Shard::Update update) {
    host_.hold(letter.shard, letter.rank, letter.clock, std::move(update));
    Letter answer;
    answer.kind = LetterKind::held;
    answer.shard = letter.shard;
    answer.rank = letter.rank;
    answer.generation = letter.generation;
    answer.clock = letter.clock;
    answer.position = letter.position;
    mail_.send(from, answer);
}

}  // namespace pace::daemon
