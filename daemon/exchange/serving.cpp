#include "daemon/exchange/serving.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/control/controller_link.h"
#include "daemon/exchange/model_range.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Outcome;
using protocol::Verb;
using server::Letter;
using server::LetterKind;

namespace {

constexpr const char* kCanceled = "canceled before it had begun";
constexpr const char* kNew =
    "this worker is new in the job, or was taken out of it; call pace_broadcast or pace_pull for "
    "the current model and go on from info.iteration";

}  // namespace

Serving::Serving(JobState& job)
    : job_(job),
      host_(job.options.elements, job.options.unsynchronized,
            {[this](ShardHost::Part part) { deliver(std::move(part)); },
             [this](uint32_t shard, const server::Shard& state, const server::Ledger& ledger) {
                 saving_.save(shard, state, ledger);
             },
             [this](uint32_t shard, uint64_t generation, uint64_t position) {
                 load(shard, generation, position);
             }}),
      mail_(
          job.services, job.options.elements,
          [this](NodeId from, const Letter& letter, std::vector<std::byte> elements) {
              received(from, letter, std::move(elements));
          },
          [this](NodeId, const base::Error&) { job_.wants_view = true; }),
      pushes_(job, host_, mail_),
      pulls_(job, host_,
             [this](const WorkerPtr& worker, uint64_t position, uint64_t slowest) {
                 pulled(worker, position, slowest);
             }),
      saving_(job, host_, mail_,
              [this](const WorkerPtr& worker, const Request& request, Ending ending) {
                  end_aside(worker, request, std::move(ending));
              }) {}

// Why a worker's call is not taken; null: it is.
const char* Serving::refusal(const Worker& worker) const {
    if (worker.newcomer) return kNew;
    if (lost_) return kLost;
    if (rolled_back_.contains(worker.rank)) return kRestored;
    return nullptr;
}

// ----------------------------------------------------------------------------------------- pushes

void Serving::push(const WorkerPtr& worker, Request request) {
    if (const char* reason = refusal(*worker)) {
        end_push(worker, request, ended_as(Outcome::stale, reason));
        return;
    }
    waiting_[worker->rank].push_back(std::move(request));
    try_pushes(worker);
}

void Serving::try_pushes(const WorkerPtr& worker) {
    if (!has_view() || !job_.view.contains(worker->rank)) return;
    std::deque<Request>& requests = waiting_[worker->rank];
    while (!requests.empty() && pushes_.has_room(worker->rank)) {
        const Request request = std::move(requests.front());
        requests.pop_front();
        const auto taken = pushes_.take(worker->rank, request);
        if (taken) ++worker->calls;
        end_push(worker, request, taken ? Ending{} : failed(taken.error()));
    }
}

// A request that is not in the worker's queue.
void Serving::end_aside(const WorkerPtr& worker, const Request& request, Ending ending) const {
    worker->busy_since = base::now();
    ending.iteration = worker->iteration;
    ending.queued_ns = base::now_ns() - request.submitted_ns;
    ++job_.services.counters.requests;
    if (ending.outcome == Outcome::failed) ++job_.services.counters.requests_failed;
    if (worker->port != nullptr) worker->port->request_ended(request.id, ending);
}

void Serving::end_push(const WorkerPtr& worker, const Request& request, const Ending& ending) {
    worker->iteration = std::max(worker->iteration, pushes_.next_clock(worker->rank));
    end_aside(worker, request, ending);
    // A pull after it waits for an update that does not come.
    if (ending.outcome != Outcome::done && pulls_.asks(worker->rank)) ask(worker);
}

void Serving::end_asides(const WorkerPtr& worker, const Ending& ending) {
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

// ------------------------------------------------------------------------------------------ pulls

void Serving::pull(const WorkerPtr& worker) {
    const Request& request = worker->head();
    Ending refused;
    if (const auto fits = check_range(request, job_.options.elements); !fits)
        refused = failed(fits.error());
    const uint64_t next = next_clock(worker->rank);
    if (has_view() && request.iteration > next + 1)
        refused = failed(base::make_error(
            ErrorKind::invalid,
            "clock is {}, but this worker's next update is of its step {}: pull for that one, or "
            "for the one after it",
            request.iteration, next));
    if (lost_) refused = ended_as(Outcome::stale, kLost);
    // One of a step that the model has not seen is of a trainer that has not heard of it.
    if (rolled_back_.contains(worker->rank) && request.iteration > next)
        refused = ended_as(Outcome::stale, kRestored);
    if (refused.outcome != Outcome::done) {
        job_.end_head(worker, std::move(refused));
        return;
    }
    begin_pull(worker);
}

void Serving::begin_pull(const WorkerPtr& worker) {
    rolled_back_.erase(worker->rank);
    worker->state = Worker::State::pulling;
    if (has_view() && job_.view.contains(worker->rank)) ask(worker);
}

void Serving::ask(const WorkerPtr& worker) {
    const bool joins = worker->head().verb == Verb::broadcast;
    pulls_.ask(worker, joins ? 0 : worker->head().iteration, next_clock(worker->rank));
}

// Those of its pushes included that wait.
uint64_t Serving::next_clock(control::Rank rank) const {
    const auto requests = waiting_.find(rank);
    const bool waits = requests != waiting_.end() && !requests->second.empty();
    return waits ? requests->second.back().iteration + 1 : pushes_.next_clock(rank);
}

void Serving::pulled(const WorkerPtr& worker, uint64_t position, uint64_t slowest) {
    const Request& request = worker->head();
    worker->iteration = std::max(worker->iteration, pushes_.next_clock(worker->rank));
    Ending ending;
    ending.iteration = worker->iteration;
    ending.group = position;
    ending.slowest_clock = slowest;
    ending.queued_ns = base::now_ns() - request.submitted_ns;
    ending.nodes = static_cast<uint32_t>(host_.places().size());
    if (request.verb == Verb::broadcast) worker->model = request.buffers;
    job_.end_head(worker, std::move(ending));
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

void Serving::withdraw(const WorkerPtr& worker) {
    if (pulls_.asks(worker->rank)) {
        job_.services.control->send(control::Withdraw{job_.id, worker->rank});
        return;
    }
    // There is no view yet.
    job_.end_head(worker, ended_as(Outcome::canceled, kCanceled));
}

void Serving::withdrawn(control::Rank rank) {
    const WorkerPtr worker = job_.find(rank);
    if (!worker || !pulls_.asks(rank)) return;
    pulls_.forget(rank);
    job_.end_head(worker, ended_as(Outcome::canceled, kCanceled));
}

// ------------------------------------------------------------------------------------ coming, going

void Serving::left(const Worker& worker) {
    pushes_.forget(worker.rank);
    pulls_.forget(worker.rank);
    saving_.forget(worker.rank);
    rolled_back_.erase(worker.rank);
    waiting_.erase(worker.rank);
}

void Serving::suspend(const WorkerPtr& worker, const std::string& reason) {
    pushes_.forget(worker->rank);
    pulls_.forget(worker->rank);
    rolled_back_.erase(worker->rank);  // it is to begin anew anyway
    end_asides(worker, ended_as(Outcome::stale, reason));
}

void Serving::invalidate(const base::Error& error) {
    mail_.close(error);
}

void Serving::forget() {
    mail_.close(base::make_error(ErrorKind::canceled, "the job is over"));
    host_.forget();
}

// ----------------------------------------------------------------------------------------- letters

void Serving::deliver(ShardHost::Part part) {
    const NodeId node = job_.view.node_of(part.rank);
    if (node == job_.services.self) {
        pulls_.add(std::move(part));
        return;
    }
    Letter letter;
    letter.kind = LetterKind::part;
    letter.shard = part.shard;
    letter.rank = part.rank;
    letter.generation = host_.generation();
    letter.clock = part.clock;
    letter.position = part.position;
    letter.slowest = part.slowest;
    auto elements = server::write_elements(part.elements, letter);
    mail_.send(node, letter, std::move(elements));
}

void Serving::received(NodeId from, const Letter& letter, std::vector<std::byte> elements) {
    if (letter.generation != host_.generation()) return;
    const auto taken = take(from, letter, std::move(elements));
    if (taken) return;
    base::log_warning("a letter about a model makes no sense",
                      {{"job", job_.options.name},
                       {"peer", job_.services.peers.name(from)},
                       {"reason", taken.error().message}});
}

Result<> Serving::take(NodeId from, const Letter& letter, std::vector<std::byte> elements) {
    if (letter.shard >= host_.places().size())
        return base::make_error(ErrorKind::corrupt, "there is no shard {}", letter.shard);
    const size_t length = host_.partition().range(letter.shard).size();
    switch (letter.kind) {
        case LetterKind::held:
            pushes_.held(letter.shard, letter.rank, letter.clock, letter.position);
            return {};
        case LetterKind::part: {
            PACE_TRY_ASSIGN(values, server::read_floats(letter, letter.count, elements));
            pulls_.add({letter.shard, letter.rank, letter.clock, letter.position, letter.slowest,
                        std::move(values)});
            return {};
        }
        case LetterKind::checkpoint:
            saving_.take_copy(from, letter, std::move(elements));
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
        PACE_TRY_ASSIGN(model, server::read_floats(letter, length, elements));
        return host_.hold_model(letter.shard, letter.clock, std::move(model));
    }
    PACE_TRY_ASSIGN(update, server::read_vector(letter, length, elements));
    // Otherwise the answer was lost with a view.
    if (host_.wants(letter.shard, letter.rank, letter.clock))
        host_.hold(letter.shard, letter.rank, letter.clock,
                   std::make_shared<const server::HybridVector>(std::move(update)));
    Letter answer;
    answer.kind = LetterKind::held;
    answer.shard = letter.shard;
    answer.rank = letter.rank;
    answer.generation = letter.generation;
    answer.clock = letter.clock;
    answer.position = letter.position;
    mail_.send(from, answer, {});
    return {};
}

}  // namespace pace::daemon
