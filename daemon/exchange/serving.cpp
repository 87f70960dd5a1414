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

constexpr const char* kLost =
    "a node that kept a part of the model is gone, and the model with it; call pace_broadcast, "
    "which makes the root's the model";
constexpr const char* kCanceled = "canceled before it had begun";
constexpr const char* kNew =
    "this worker is new in the job, or was taken out of it; call pace_broadcast or pace_pull for "
    "the current model and go on from info.iteration";

}  // namespace

Serving::Serving(JobState& job)
    : job_(job),
      host_(job.options.elements, [this](ShardHost::Part part) { deliver(std::move(part)); }),
      mail_(
          job.services, job.options.elements,
          [this](NodeId from, const Letter& letter, std::vector<std::byte> elements) {
              received(from, letter, std::move(elements));
          },
          [this](NodeId, const base::Error&) { job_.wants_view = true; }),
      pushes_(job, host_, mail_),
      pulls_(job, host_, [this](const WorkerPtr& worker, uint64_t position, uint64_t slowest) {
          pulled(worker, position, slowest);
      }) {}

// ----------------------------------------------------------------------------------------- pushes

void Serving::push(const WorkerPtr& worker, Request request) {
    if (worker->newcomer) {
        end_push(worker, request, ended_as(Outcome::stale, kNew));
        return;
    }
    if (lost_) {
        end_push(worker, request, ended_as(Outcome::stale, kLost));
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

void Serving::end_push(const WorkerPtr& worker, const Request& request, Ending ending) {
    worker->iteration = std::max(worker->iteration, pushes_.next_clock(worker->rank));
    worker->busy_since = base::now();
    ending.iteration = worker->iteration;
    ending.queued_ns = base::now_ns() - request.submitted_ns;
    ++job_.services.counters.requests;
    if (ending.outcome == Outcome::failed) ++job_.services.counters.requests_failed;
    if (worker->port != nullptr) worker->port->request_ended(request.id, ending);
    // A pull after it waits for an update that does not come.
    if (ending.outcome != Outcome::done && pulls_.asks(worker->rank)) ask(worker);
}

void Serving::end_pushes(const WorkerPtr& worker, const Ending& ending) {
    for (const Request& request : std::exchange(waiting_[worker->rank], {}))
        end_push(worker, request, ending);
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
    if (refused.outcome != Outcome::done) {
        job_.end_head(worker, std::move(refused));
        return;
    }
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
    waiting_.erase(worker.rank);
}

void Serving::suspend(const WorkerPtr& worker, const std::string& reason) {
    pushes_.forget(worker->rank);
    pulls_.forget(worker->rank);
    end_pushes(worker, ended_as(Outcome::stale, reason));
}

void Serving::invalidate(const base::Error& error) {
    mail_.close(error);
}

void Serving::forget() {
    mail_.close(base::make_error(ErrorKind::canceled, "the job is over"));
    host_.forget();
}

// ------------------------------------------------------------------------------------------- views

void Serving::commit(const control::CommitView& view) {
    if (view.generation == 0) return;
    const bool anew = view.generation != host_.generation();
    const bool first = host_.generation() == 0;
    auto missed = host_.commit(view, job_.services.self);
    if (!missed) {
        check(missed.error());
        return;
    }
    lost_ = view.model_lost;  // the same at all nodes: they must agree on who is to broadcast
    if (lost_) base::log_warning("model lost", {{"job", job_.options.name}, {"reason", kLost}});
    std::vector<NodeId> nodes = job_.view.nodes();
    nodes.insert(nodes.end(), view.shards.begin(), view.shards.end());
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (host_.waits_for_round() && !job_.view.contains_node(job_.services.self)) {
        // Whoever was to send it may be gone.
        check(base::make_error(ErrorKind::aborted,
                               "the model that a round of pace_broadcast assigns did not come"));
        return;
    }
    mail_.open(job_.token, view.epoch, nodes);
    heard(*missed);
    pushes_.commit(anew && !first);
    pulls_.ask_again();
    // Whoever is asked to end a request here may call the next at once.
    const auto workers = job_.workers;
    for (const auto& [rank, worker] : workers) {
        if (lost_) end_pushes(worker, ended_as(Outcome::stale, kLost));
        if (!job_.view.contains(rank)) continue;
        worker->iteration = std::max(worker->iteration, pushes_.next_clock(rank));
        try_pushes(worker);
        if (worker->state != Worker::State::pulling) continue;
        if (lost_ && worker->head().verb == Verb::broadcast) {
            worker->state = Worker::State::idle;
            job_.advance(worker);
        } else if (lost_) {
            pulls_.forget(rank);
            job_.end_head(worker, ended_as(Outcome::stale, kLost));
        } else if (!pulls_.asks(rank)) {
            ask(worker);
        }
    }
}

void Serving::order(const control::ServerOrder& order) {
    if (order.generation != host_.generation()) return;
    std::vector<control::ServerEntry> news;
    const auto result = host_.hear(order.entries, news);
    heard(news);
    check(result);
}

void Serving::heard(const std::vector<control::ServerEntry>& entries) {
    for (const control::ServerEntry& entry : entries) {
        pushes_.ordered(entry);
        const WorkerPtr worker = job_.find(entry.worker.rank);
        if (worker && entry.step == control::ServerStep::push) try_pushes(worker);
    }
}

void Serving::check(const Result<>& result) {
    if (result) return;
    base::log_error("the order of a model's updates is broken here",
                    {{"job", job_.options.name}, {"reason", result.error().message}});
    // What this node has is of no use: another view finds that it is lost.
    host_.forget();
    job_.wants_view = true;
}

// ----------------------------------------------------------------------------------- the first model

bool Serving::is_model(const std::vector<BufferPtr>& buffers) const {
    uint64_t elements = 0;
    for (const BufferPtr& buffer : buffers) {
        if (buffer->dtype != protocol::DType::f32) return false;
        elements += buffer->count;
    }
    return elements == job_.options.elements;
}

void Serving::broadcasted(uint64_t round, const std::vector<BufferPtr>& buffers) {
    if (!is_model(buffers) || !has_view()) return;
    lost_ = false;
    give_model(round, buffers);
    job_.services.control->send(control::ServerAssigned{job_.id, host_.generation(), round});
}

// Every node with a worker has it; the first of them sends it to nodes that keep shards and have none.
void Serving::give_model(uint64_t round, const std::vector<BufferPtr>& buffers) {
    const std::vector<NodeId> nodes = job_.view.nodes();
    const bool is_first = !nodes.empty() && nodes.front() == job_.services.self;
    for (uint32_t shard = 0; shard < host_.places().size(); ++shard) {
        const NodeId node = host_.places()[shard];
        const bool has_it = std::find(nodes.begin(), nodes.end(), node) != nodes.end();
        if (!host_.keeps(shard) && (has_it || !is_first)) continue;
        const server::Range range = host_.partition().range(shard);
        std::vector<float> model(range.size());
        read_range(buffers, range.begin, model);
        if (host_.keeps(shard)) {
            check(host_.hold_model(shard, round, std::move(model)));
            continue;
        }
        Letter letter;
        letter.kind = LetterKind::model;
        letter.shard = shard;
        letter.generation = host_.generation();
        letter.clock = round;
        auto elements = server::write_elements(model, letter);
        mail_.send(node, letter, std::move(elements));
    }
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
    const auto taken = take(from, letter, elements);
    if (taken) return;
    base::log_warning("a letter about a model makes no sense",
                      {{"job", job_.options.name},
                       {"peer", job_.services.peers.name(from)},
                       {"reason", taken.error().message}});
}

Result<> Serving::take(NodeId from, const Letter& letter, std::span<const std::byte> elements) {
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
    // One that is ordered has been held before; the answer was lost with a view.
    if (!host_.has_ordered(letter.rank, letter.clock))
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
