#include "daemon/families/rounds/rounds.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/attempt.h"
#include "base/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/members/alike.h"
#include "daemon/members/call_text.h"
#include "daemon/members/digest.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Verb;

namespace {

Exchange::Kind kind_of(Verb verb) {
    if (verb == Verb::barrier) return Exchange::Kind::barrier;
    return verb == Verb::broadcast ? Exchange::Kind::broadcast : Exchange::Kind::reduce;
}

bool is_mean(const Request& request) {
    return request.verb == Verb::sync ||
           (request.verb == Verb::reduce && request.op == protocol::ReduceOp::mean);
}

std::shared_ptr<MemberList> members_of(const View& view, const Request& request) {
    auto members = std::make_shared<MemberList>();
    members->reserve(view.members.size());
    const double share = is_mean(request) ? 1.0 / static_cast<double>(view.members.size()) : 1.0;
    for (const control::Member& member : view.members) {
        const bool gives = request.verb != Verb::broadcast || member.rank == request.root;
        const double weight = gives && request.verb != Verb::barrier ? share : 0.0;
        members->push_back({member.rank, 0, 0, weight});
    }
    return members;
}

}  // namespace

Rounds::Rounds(JobState& job) : job_(job), compression_(job, [this] { try_start(); }) {
    if (!protocol::is_partial(job_.options)) return;
    const auto lend = [this] {
        // All nodes have begun the round, so nobody needs the last round's result.
        retained_.drop();
        return std::exchange(retained_.memory, {});
    };
    partial_ = std::make_unique<PartialRounds>(
        job_, PartialRounds::Events{
                  [this](const Result<partial::RoundOutcome>& outcome) { partial_ended(outcome); },
                  lend});
}

uint64_t Rounds::round_number() const {
    return exchange_number(job_.token, ExchangeKind::round, job_.view.epoch, completed_);
}

void Rounds::try_start() {
    if (is_busy() || preparing_ != 0 || job_.view.epoch == 0) return;
    if (job_.view.epoch == waits_in_) return;
    if (partial_ && !everyone_) {
        open_partial();
        return;
    }
    const std::vector<WorkerPtr> members = job_.local_members();
    if (members.empty()) return;
    for (const WorkerPtr& worker : members) {
        if (worker->state != Worker::State::waiting) return;
    }
    const Request& first = members.front()->head();
    if (const WorkerPtr unlike = first_unlike(members)) {
        fail_round(members, unlike_calls(*members.front(), *unlike));
        return;
    }
    if (first.verb == Verb::broadcast && !job_.view.contains(first.root)) {
        fail_round(members,
                   base::make_error(ErrorKind::invalid,
                                    "root {} is not a member of the job now; name one that is",
                                    first.root));
        return;
    }
    if (first.verb == Verb::reduce && !compression_.ready()) return;
    round_view_ = job_.view;
    Exchange::Plan plan = plan_round(members);
    if (first.verb == Verb::reduce) {
        const auto chosen = compression_.choose(plan, members);
        if (!chosen) fail_round(members, chosen.error());
        if (!chosen || !*chosen) return;
    }
    // Residuals of top-k are in the members' own scale.
    if (is_mean(first) && !plan.top_k) plan.make_room(job_.view.roster().largest_node());
    begin(std::move(plan), members);
}

Exchange::Plan Rounds::plan_round(const std::vector<WorkerPtr>& members) const {
    const Request& first = members.front()->head();
    Exchange::Plan plan;
    plan.kind = kind_of(first.verb);
    plan.job = job_.id;
    plan.hold = job_.hold;
    plan.what = fmt::format("round {}", completed_);
    plan.number = round_number();
    plan.check = check_of(first);
    plan.nodes = job_.view.nodes();
    plan.zones = job_.view.zones();
    plan.nccl = job_.view.nccl();
    const auto index_of = [&plan](NodeId node) {
        return static_cast<size_t>(std::find(plan.nodes.begin(), plan.nodes.end(), node) -
                                   plan.nodes.begin());
    };
    plan.self = index_of(job_.services.self);
    if (first.verb == Verb::broadcast) plan.root = index_of(job_.view.node_of(first.root));
    if (is_mean(first)) plan.scale = 1.0 / static_cast<double>(job_.view.members.size());
    plan.layout = layout_of(first.buffers);
    for (const WorkerPtr& worker : members) {
        const Request& request = worker->head();
        const bool is_root = worker->rank == request.root;
        if (first.verb != Verb::broadcast || is_root) {
            plan.contributions.push_back({segments_of(request.buffers), 1.0});
            if (request.contents) plan.on_device.push_back({request.contents, 1.0});
            plan.keep.insert(plan.keep.end(), request.buffers.begin(), request.buffers.end());
        }
        if (first.verb == Verb::broadcast && is_root) continue;
        plan.recipients.push_back(request.destination());
        plan.marks.push_back(request.mark);
    }
    if (first.verb == Verb::broadcast) leave_copy(plan, first);
    return plan;
}

// The memory that also gets a broadcast's result.
void Rounds::leave_copy(Exchange::Plan& ret_plan, const Request& broadcast) const {
    ret_plan.keep_memory = job_.place_for_initial(ret_plan.layout);
    if (ret_plan.keep_memory) {
        for (size_t i = 0; i < ret_plan.layout.segments().size(); ++i)
            ret_plan.copy_to.push_back(ret_plan.keep_memory->data() + ret_plan.layout.offset(i));
        return;
    }
    ret_plan.keep_memory = job_.port->place_for_model(broadcast.buffers);
    if (!ret_plan.keep_memory) return;
    std::byte* place = ret_plan.keep_memory->data();
    for (const BufferPtr& buffer : broadcast.buffers) {
        ret_plan.copy_to.push_back(place);
        place += buffer->count * sizeof(float);
    }
}

void Rounds::begin(Exchange::Plan plan, const std::vector<WorkerPtr>& members) {
    const uint64_t now = base::now_ns();
    for (const WorkerPtr& worker : members) worker->begin_moving(now);
    if (plan.kind != Exchange::Kind::fetch) {
        round_calls_.clear();
        for (const WorkerPtr& worker : members) round_calls_[worker->rank] = worker->head().serial;
        round_layout_ = plan.layout;
        round_check_ = plan.check;
        round_dense_ = plan.dense_instead;
        round_traffic_ = {};
    }
    const bool brings_initial = plan.keep_memory == job_.initial.memory;
    lent_ = may_form_in_retained(plan);
    Scratch scratch;
    if (lent_) scratch = std::move(retained_.memory);
    const bool begun = base::attempt([&] {
        // A small exchange on one node ends before start() returns.
        auto exchange = Exchange::start(
            job_.services, std::move(plan), std::move(scratch),
            job_.scope.bind([this, members](Exchange& done, const Result<>& result) {
                ended(done, members, result);
            }));
        if (exchange->ended()) return;
        for (const WorkerPtr& worker : members) worker->exchange = exchange;
        active_ = std::move(exchange);
    });
    if (begun) return;
    // No exchange moves the members: whoever catches the exception ends their requests.
    compression_.chosen_ended();
    if (brings_initial) job_.initial_is_lost();
    if (std::exchange(lent_, false)) retained_.drop();
    for (const WorkerPtr& worker : members)
        if (worker->state == Worker::State::moving) worker->wait_again(Worker::State::waiting);
    throw std::bad_alloc();
}

void Rounds::ended(Exchange& exchange, const std::vector<WorkerPtr>& members,
                   const Result<>& result) {
    active_.reset();
    const bool is_fetch = exchange.plan().kind == Exchange::Kind::fetch;
    if (!result && !is_fetch) round_traffic_ = exchange.traffic();
    if (!result && exchange.plan().keep_memory == job_.initial.memory) job_.initial_is_lost();
    compression_.chosen_ended();
    keep_result(exchange, result);
    if (result) {
        if (is_fetch)
            compression_.conclude(exchange.plan().layout,
                                  {retained_.memory.data(), retained_.bytes}, hidden_.bytes);
        if (members.empty()) {
            ++completed_;
        } else {
            commit_round(exchange, members);
        }
    } else if (members.empty()) {
        result_is_lost();
    } else {
        failed_with(exchange, members, result.error());
    }
    if (!is_busy()) compression_.exchange_ended();
    if (result || preparing_ != 0) go_on();
    if (members.empty()) try_start();
}

// The round of these members has failed here.
void Rounds::failed_with(Exchange& exchange, const std::vector<WorkerPtr>& members,
                         const base::Error& error) {
    if (exchange.contents_lost()) {
        compression_.committed(exchange);  // if only this node lacks the result
        fail_round(members, error);
    } else if (error.kind == ErrorKind::memory) {
        end_without_memory(exchange, members, error);
    } else if (error.kind == ErrorKind::mismatch && exchange.plan().kind == Exchange::Kind::fetch) {
        lose_round(exchange, members);
    } else if (error.kind == ErrorKind::mismatch) {
        const Worker& worker = *members.front();
        fail_round(members, base::make_error(ErrorKind::mismatch,
                                             "worker {} called {} and {} something else: {}",
                                             worker.rank, call_text(worker.head()),
                                             job_.caller_at(exchange.unlike()), kCallAlike));
    } else {
        // The requests wait for the next view; their buffers are as they were.
        log_failure(exchange, error);
        if (exchange.plan().nodes.size() > 1) wait_for_view();
        for (const WorkerPtr& worker : members) wait_again(worker);
    }
}

// A round that was stopped for another view is in the controller's log.
void Rounds::log_failure(const Exchange& exchange, const base::Error& error) const {
    if (error.kind == ErrorKind::aborted || exchange.plan().nodes.size() <= 1) return;
    base::log_event(base::events::kRoundRedone,
                    {{"job", job_.options.name},
                     {"round", completed_},
                     {"nodes", job_.services.peers.names(exchange.plan().nodes)},
                     {"reason", error.message}});
}

// Goes on after a round that has ended well, or that is to be redone.
void Rounds::go_on() {
    if (preparing_ != 0) {
        answer_prepare();
    } else if (partial_) {
        try_start();
    }
}

bool Rounds::may_form_in_retained(const Exchange::Plan& plan) const {
    const size_t bytes = plan.layout.bytes();
    if (plan.nodes.size() <= 1 || bytes == 0) return false;
    if (!retained_.valid || plan.kind == Exchange::Kind::fetch) return true;
    return plan.kind == Exchange::Kind::reduce && retained_.memory.fits(bytes);
}

void Rounds::keep_result(Exchange& exchange, const Result<>& result) {
    Scratch memory = exchange.take_scratch();
    const bool among_nodes = exchange.plan().nodes.size() > 1;
    const bool has_result = result && among_nodes;
    if (has_result) {
        retain(exchange.result_bytes(), exchange.plan().check);
        if (exchange.plan().kind != Exchange::Kind::fetch) {
            keep_hidden(exchange.take_hidden());
            chosen_ = exchange.entries();
        }
        retained_.on_device = exchange.take_device_result();
        retained_.unmet = exchange.plan().nodes;
        std::erase(retained_.unmet, job_.services.self);
        // A barrier has no result, and leaves the memory to the next round.
        if (retained_.bytes != 0) retained_.memory = std::move(memory);
    } else if (lent_) {
        retained_.memory = std::move(memory);
        if (exchange.scratch_touched()) retained_.drop();
    }
    lent_ = false;
}

// Retains the result of the round that is about to be counted.
void Rounds::retain(size_t bytes, uint32_t check) {
    retained_.valid = true;
    retained_.round = completed_;
    retained_.epoch = round_view_.epoch;
    retained_.bytes = bytes;
    retained_.check = check;
    retained_.on_device.reset();
    retained_.lent_out.reset();  // of an earlier result
    retained_.borrowers = 0;
}

void Rounds::met(const std::vector<NodeId>& nodes) {
    if (!retained_.valid || active_) return;
    for (const NodeId node : nodes) std::erase(retained_.unmet, node);
    if (retained_.unmet.empty()) retained_.drop();
}

Scratch Rounds::spare_memory() {
    if (retained_.valid || active_) return {};
    return std::exchange(retained_.memory, {});
}

void Rounds::wait_again(const WorkerPtr& worker) {
    worker->wait_again(Worker::State::waiting);
    if (!worker->newcomer || worker->port == nullptr) return;
    // Suspended, or excluded with this node, meanwhile: the worker's place is asked for anew.
    worker->state = Worker::State::idle;
    job_.port->advance(worker);
}

void Rounds::commit_round(const Exchange& exchange, const std::vector<WorkerPtr>& members) {
    const uint64_t now = base::now_ns();
    const Request first = members.front()->head();
    const auto list = members_of(round_view_, first);
    const std::shared_ptr<Scratch>& copy = exchange.plan().keep_memory;
    const bool brings_initial = copy == job_.initial.memory;
    if (brings_initial) job_.initial_came(exchange.plan().layout);
    if (first.verb == Verb::broadcast)
        job_.port->broadcasted(completed_, first.buffers, brings_initial ? nullptr : copy);
    if (partial_) tell({partial::Verdict::everyone, {}, 1.0, {}});
    if (partial_ && first.verb == Verb::barrier) partial_->commit_nothing(completed_);
    if (partial_ && first.verb != Verb::barrier) partial_->commit_equal(completed_);
    everyone_ = false;
    compression_.committed(exchange);
    const uint64_t round = completed_++;
    ++job_.services.counters.rounds;
    for (const WorkerPtr& worker : members) {
        worker->times.met(exchange.met());
        note_model(*worker);
        if (worker->head().verb == Verb::reduce) worker->iteration = worker->head().iteration;
        job_.end_head(worker, ending_of(*worker, exchange, round, list, now));
    }
}

// How the worker's request has ended in this round of these members.
Ending Rounds::ending_of(const Worker& worker, const Exchange& exchange, uint64_t round,
                         const std::shared_ptr<MemberList>& members, uint64_t now_ns) const {
    const Request& request = worker.head();
    const auto traffic = exchange.traffic();
    Ending ending;
    ending.iteration = worker.iteration;
    ending.group = round;
    ending.queued_ns = worker.queued_ns();
    ending.moving_ns = now_ns - worker.moving_since_ns;
    ending.nodes = static_cast<uint32_t>(round_view_.nodes().size());
    ending.bytes_sent = traffic.bytes_sent + round_traffic_.bytes_sent;
    ending.bytes_received = traffic.bytes_received + round_traffic_.bytes_received;
    ending.members = members;
    if (request.verb != Verb::reduce) return ending;
    ending.rounds = 1;
    ending.divisor = is_mean(request) ? static_cast<double>(members->size()) : 1.0;
    ending.contributors = static_cast<uint32_t>(members->size());
    ending.resync = job_.is_resync_due(round, round + 1);
    ending.dense = round_dense_;
    // A node that missed the result has fetched it from one other node; it reports the round.
    const bool fetched = exchange.plan().kind == Exchange::Kind::fetch;
    if (!ending.dense) ending.entries = fetched ? chosen_ : exchange.entries();
    return ending;
}

std::string Rounds::awaited() const {
    if (preparing_ != 0) return "the job's membership to have changed";
    if (waits_in_ != 0 && waits_in_ == job_.view.epoch)
        return "another view of the job, since a round has failed in this one (the log says why)";
    std::vector<control::Rank> missing;
    for (const control::Member& member : job_.view.members) {
        const WorkerPtr worker =
            member.node == job_.services.self ? job_.find(member.rank) : nullptr;
        const bool has_called = !worker || worker->state == Worker::State::waiting ||
                                worker->state == Worker::State::moving;
        if (!has_called) missing.push_back(worker->rank);
    }
    if (!missing.empty()) return JobState::not_called(missing);
    if (partial_ && !everyone_ && partial_->under_way()) return partial_->awaited();
    if (!active_) return "this node to go on with its round";
    const std::vector<NodeId> nodes = active_->waiting_for();
    return nodes.empty() ? active_->what() + " to end"
                         : fmt::format("{}, in {}", job_.workers_at(nodes), active_->what());
}

void Rounds::run_local(const WorkerPtr& worker, const Compression::Done& done) {
    if (worker->head().verb == Verb::residual_save)
        compression_.save(worker, done);
    else
        compression_.load(worker, done);
}

}  // namespace pace::daemon
