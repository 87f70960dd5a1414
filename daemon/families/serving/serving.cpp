#include "daemon/families/serving/serving.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log/training_events.h"
#include "daemon/control/controller.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Outcome;
using server::Letter;

Serving::Serving(JobState& job)
    : job_(job),
      host_(job.options.elements, job.options.unsynchronized, job.payer(),
            {[this](ShardHost::Part part) { letters_.deliver(std::move(part)); },
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
              letters_.received(from, letter, std::move(parcel));
          },
          [this](NodeId from, const Letter& letter, const base::Error& error) {
              letters_.refused(from, letter, error);
          },
          [this](NodeId node, const base::Error& error) { letters_broken(node, error); },
          [this](NodeId from, const Letter& letter) { return letters_.admit(from, letter); }),
      standings_(job, host_),
      pushes_(job, host_, mail_),
      queue_(job, standings_, pushes_, *this),
      pulls_(job, host_,
             [this](const WorkerPtr& worker, uint64_t position, uint64_t slowest) {
                 pull_calls_.pulled(worker, position, slowest);
             }),
      pull_calls_(job, host_, standings_, pushes_, queue_, pulls_),
      saving_(job, host_, mail_,
              [this](const WorkerPtr& worker, const Request& request, Ending ending) {
                  end_aside(worker, request, std::move(ending));
              }),
      given_(job, host_, mail_),
      letters_(job, host_, mail_, pushes_, pulls_, saving_, *this) {}

// ------------------------------------------------------------------------- pushes and checkpoints

void Serving::push(const WorkerPtr& worker, Request request) {
    if (const char* reason = standings_.refusal(*worker))
        push_ended(worker, request, ended_as(Outcome::stale, reason));
    else if (standings_.no_room())
        push_ended(worker, request, failed(*standings_.no_room()));
    else
        queue_.add(worker, std::move(request));
}

void Serving::push_ended(const WorkerPtr& worker, const Request& request, const Ending& ending) {
    pushes_.set_step(*worker);
    end_aside(worker, request, ending);
    // A pull or a checkpoint after the push waits for an update that does not come.
    if (ending.outcome == Outcome::done) return;
    pull_calls_.update_is_gone(worker);
    saving_.lower(worker->rank, queue_.next_clock(worker->rank));
}

void Serving::checkpoint(const WorkerPtr& worker, Request request) {
    if (const char* reason = standings_.refusal(*worker)) {
        end_aside(worker, request, ended_as(Outcome::stale, reason));
        return;
    }
    saving_.ask(worker, std::move(request), queue_.next_clock(worker->rank));
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

bool Serving::cancel(const WorkerPtr& worker, uint64_t id, const std::string& message) {
    const Ending ending = ended_as(Outcome::canceled, message);
    return saving_.cancel(worker, id, ending) || queue_.cancel(worker, id, ending);
}

void Serving::end_asides(const WorkerPtr& worker, const Ending& ending) {
    queue_.end_all(worker, ending);
    saving_.end_all(worker, ending);
}

void Serving::for_each_aside(
    control::Rank rank,
    const std::function<void(const Request&, const std::string& what)>& visit) const {
    queue_.for_each(rank, visit);
    saving_.for_each_asked(rank, [&](const Request& request, uint64_t own) {
        const bool is_ordered = own == 0 || host_.has_ordered(rank, own - 1);
        const std::vector<NodeId> places = host_.places();
        const std::set<NodeId> nodes(places.begin(), places.end());
        visit(request, is_ordered
                           ? fmt::format("the shards to be on the disks of their nodes: {}",
                                         job_.services.peers.names({nodes.begin(), nodes.end()}))
                           : "its own pushes, which wait for " + queue_.awaited_by_updates(rank));
    });
}

std::vector<NodeId> Serving::look_again(base::TimePoint now) {
    pull_calls_.look_again();
    return letters_.look_for_late(now);
}

// -------------------------------------------------------------------------------------- the order

void Serving::order(const control::ServerOrder& order) {
    if (order.generation != host_.generation()) return;
    std::vector<control::ServerEntry> news;
    const auto result = host_.hear(order.entries, news);
    heard(news);
    for (const control::ServerEntry& entry : news)
        if (entry.step == control::ServerStep::pull) letters_.expect_parts(entry);
    check(result);
}

void Serving::heard(const std::vector<control::ServerEntry>& entries) {
    for (const control::ServerEntry& entry : entries) {
        pushes_.ordered(entry);
        if (entry.step == control::ServerStep::assign) assigned(entry.clock);
        if (entry.step == control::ServerStep::checkpoint) saving_.ordered(entry.position);
        const WorkerPtr worker = job_.find(entry.worker.rank);
        if (worker && entry.step == control::ServerStep::push) queue_.go_on(worker);
    }
}

// There is a model, also for workers that were waiting to broadcast one.
void Serving::assigned(uint64_t round) {
    given_.assigned(round);
    if (!standings_.is_lost()) return;
    standings_.set_lost(false);
    pull_calls_.model_is_there();
}

std::shared_ptr<Scratch> Serving::place_for_model(const std::vector<BufferPtr>& buffers) {
    return given_.is_model(buffers) && standings_.has_view() ? given_.place() : nullptr;
}

void Serving::broadcasted(uint64_t round, const std::vector<BufferPtr>& buffers,
                          const std::shared_ptr<Scratch>& copy) {
    if (!given_.is_model(buffers) || !standings_.has_view()) return;
    if (const auto room = given_.has_room(copy); !room) return has_no_room(room.error());
    standings_.all_got_model();
    check(given_.give(round, buffers, copy));
    given_.assign(round);
}

control::ServerReport Serving::report() {
    control::ServerReport report = host_.report();
    report.saved = saving_.listed();
    report.model_lost = standings_.is_lost();
    return report;
}

// ----------------------------------------------------------------------------------- coming, going

void Serving::left(const Worker& worker) {
    pushes_.forget(worker.rank);
    pull_calls_.forget(worker.rank);
    saving_.forget(worker.rank);
    standings_.forget(worker.rank);
    queue_.forget(worker.rank);
}

void Serving::suspend(const WorkerPtr& worker, const std::string& reason) {
    pushes_.forget(worker->rank);
    pull_calls_.forget(worker->rank);
    standings_.asked(worker->rank);  // the worker is to begin anew anyway
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

}  // namespace pace::daemon
