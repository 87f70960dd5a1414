// Rounds when the membership changes: they stop, and go on over the next view. A node that missed
// the last round's result gets it.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/release_thread.h"
#include "base/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/families/rounds/rounds.h"
#include "daemon/runtime/exchange_number.h"
#include "daemon/sparse/chosen.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Verb;

void Rounds::prepare(uint64_t epoch) {
    if (epoch <= job_.view.epoch || epoch < preparing_) return;
    preparing_ = epoch;
    const auto error = base::make_error(ErrorKind::aborted, "the job's membership is changing");
    stop_gifts(error);
    if (const auto taking = taking_.lock()) taking->abort(error);
    if (partial_ && partial_->under_way()) {
        partial_->abort(error);
        return;
    }
    if (!is_busy()) {
        answer_prepare();
        return;
    }
    if (!active_) return;
    // On one node alone nothing can hold a round up: the round commits, then the answer is sent.
    active_->abort(error);
}

void Rounds::answer_prepare() {
    job_.port->before_server_report([this, epoch = preparing_] {
        if (preparing_ == epoch) send_prepared();
    });
}

void Rounds::send_prepared() {
    end_suspended();
    control::ViewPrepared prepared;
    prepared.job = job_.id;
    prepared.epoch = preparing_;
    prepared.completed = completed_;
    prepared.round_epoch = round_view_.epoch;
    prepared.result_epoch = has_last_result() ? retained_.epoch : 0;
    for (const auto& [rank, worker] : job_.workers)
        if (!worker->can_give_model()) prepared.without_model.push_back(rank);
    prepared.server = job_.port->server_report();
    job_.services.control->send(prepared);
}

// Drops messages, those that have come and those that still come, of two kinds: for rounds of the
// old view that others had begun and this node had not, and for results of that view that nobody
// took here. Others are ahead by at most one round: the one whose result this node did not get.
void Rounds::leave_view() {
    const uint64_t epoch = std::exchange(view_epoch_, 0);
    if (epoch == 0) return;
    const auto number = [&](ExchangeKind kind, uint64_t second) {
        return exchange_number(job_.token, kind, epoch, second);
    };
    const NodeId self = job_.services.self;
    std::vector<uint64_t> numbers{number(ExchangeKind::fetch, self)};
    for (const uint64_t round : {completed_, completed_ + 1}) {
        const uint64_t dense = number(ExchangeKind::round, round);
        numbers.insert(numbers.end(), {dense, number(ExchangeKind::flat, dense),
                                       number(ExchangeKind::partial, round),
                                       number(ExchangeKind::partial_data, round)});
    }
    const uint64_t hidden = number(ExchangeKind::hidden, self);
    numbers.insert(numbers.end(), {number(ExchangeKind::fetch_told, self), part_number(hidden, 0),
                                   part_number(hidden, 1)});
    for (const uint64_t of_old_view : numbers) job_.services.transport.close_exchange(of_old_view);
}

void Rounds::commit(const control::CommitView& view) {
    leave_view();
    view_epoch_ = view.epoch;
    preparing_ = 0;
    view_base_ = view.base_round;
    everyone_ = false;
    compression_.commit_view(view.leavers);
    const bool behind =
        std::find(view.behind.begin(), view.behind.end(), job_.services.self) != view.behind.end();
    if (view.donor == job_.services.self) {
        for (const NodeId node : view.behind) {
            if (node == job_.services.self) continue;
            if (partial_) serve_told(node);
            if (compression_.is_top_k()) serve_hidden(node);
            serve(node);
        }
    }
    if (behind && completed_ + 1 == view.base_round && view.donor != job_.services.self) {
        if (partial_) {
            fetch_told(view.donor);
        } else if (compression_.is_top_k()) {
            fetch_hidden(view.donor);
        } else {
            fetch_from(view.donor);
        }
        return;
    }
    if (partial_) partial_->put_back();
    compression_.discard();
    compression_.exchange_ended();
    round_calls_.clear();
    completed_ = view.base_round;
    try_start();
}

bool Rounds::is_undecided(const Worker& worker) const {
    const auto call = round_calls_.find(worker.rank);
    return !partial_ && round_view_.nodes().size() > 1 && call != round_calls_.end() &&
           call->second == worker.head().serial;
}

void Rounds::fetch_from(NodeId donor) {
    // The members that still wait with the calls of the round. Calls made since are for the next
    // round.
    std::vector<WorkerPtr> members;
    for (const auto& [rank, worker] : job_.workers) {
        const auto call = round_calls_.find(rank);
        if (worker->state == Worker::State::waiting && call != round_calls_.end() &&
            call->second == worker->head().serial)
            members.push_back(worker);
    }
    if (members.empty()) {
        if (partial_) partial_->commit_nothing(completed_);
        if (!compression_.is_open()) {
            ++completed_;
            compression_.exchange_ended();
            try_start();
            return;
        }
    }
    Exchange::Plan plan = fetch_plan(ExchangeKind::fetch, donor, round_check_, round_layout_);
    for (const WorkerPtr& worker : members) {
        const Request& request = worker->head();
        const bool keeps_own = request.verb == Verb::broadcast && worker->rank == request.root;
        if (keeps_own) continue;
        plan.recipients.push_back(request.destination());
        plan.marks.push_back(request.mark);
    }
    if (!members.empty() && members.front()->head().verb == Verb::broadcast)
        leave_copy(plan, members.front()->head());
    begin(std::move(plan), members);
}

// The result has not come. If this node has no worker any more, nobody fetches the result for it
// again: its residuals after the round will not be known.
void Rounds::result_is_lost() {
    if (job_.view.contains_node(job_.services.self)) {
        wait_for_view();
        return;
    }
    compression_.discard();
    compression_.exchange_ended();
}

// The receiving end of give().
Exchange::Plan Rounds::fetch_plan(ExchangeKind kind, NodeId donor, uint32_t check,
                                  collectives::Layout layout) const {
    Exchange::Plan plan;
    plan.kind = Exchange::Kind::fetch;
    plan.job = job_.id;
    plan.hold = job_.hold;
    plan.what = fmt::format("the result of round {}", completed_);
    plan.number = number(kind, job_.services.self);
    plan.check = check;
    plan.nodes = {donor, job_.services.self};
    plan.self = 1;
    plan.layout = std::move(layout);
    return plan;
}

// The round would find no memory again if it were redone with these calls. Other nodes may have its
// result, or redo it with the next calls here: the next view says which.
void Rounds::end_without_memory(const Exchange& exchange, const std::vector<WorkerPtr>& members,
                                const base::Error& error) {
    if (exchange.plan().nodes.size() <= 1) return fail_round(members, error);
    log_failure(exchange, error);
    wait_for_view();
    for (const WorkerPtr& worker : members) job_.end_head(worker, failed(error));
}

// The next view names another donor, or redoes the round.
void Rounds::wait_for_view() {
    waits_in_ = job_.view.epoch;
    if (preparing_ == 0) job_.wants_view = true;
}

void Rounds::serve(NodeId node) {
    if (has_last_result() && retained_.on_device) return serve_from_gpu(node);
    give_result(node);
}

// Gives a copy of the last result, since the result goes when the next round commits, and the other
// node may take longer.
void Rounds::give_result(NodeId node) {
    const uint64_t number = this->number(ExchangeKind::fetch, node);
    const size_t bytes = retained_.bytes;
    auto copy = std::make_shared<Scratch>();
    if (!has_last_result() || !copy->reserve(bytes, job_.payer()))
        return give_nothing(number, node);
    if (!retained_.lent_out)
        retained_.lent_out = std::make_shared<Scratch>(std::move(retained_.memory));
    ++retained_.borrowers;
    const std::shared_ptr<Scratch> result = retained_.lent_out;
    const auto give = giving_.bind(
        [this, copy, number, node, bytes, check = retained_.check, held = about_to_give()] {
            givings_.push_back(Giving::give(job_.services, about_result(node), number, check,
                                            std::move(*copy), bytes));
        });
    const auto copied = job_.scope.callback([this, result, give] {
        // The last borrower gives the memory back to the rounds, unless they have other memory by
        // now.
        if (retained_.lent_out == result && --retained_.borrowers == 0) {
            if (retained_.memory.size() == 0) retained_.memory = std::move(*result);
            retained_.lent_out.reset();
        }
        give();
    });
    job_.services.aside().run(
        2 * bytes, bytes, kernels::Aside::kGrainBytes,
        [result, copy](size_t begin, size_t end) {
            std::memcpy(copy->data() + begin, result->data() + begin, end - begin);
        },
        copied);
}

// The memory is pinned first, off the loop: to memory that is not pinned, the driver would copy
// while the loop waits.
void Rounds::serve_from_gpu(NodeId node) {
    const uint64_t number = this->number(ExchangeKind::fetch, node);
    auto memory = std::make_shared<Scratch>();
    const auto room = memory->reserve(retained_.bytes, job_.payer());
    if (!room) return give_nothing(number, node);
    const auto landed =
        giving_.bind([this, number, node, memory, bytes = retained_.bytes, check = retained_.check,
                      held = about_to_give()](const Result<>& came) {
            if (!came) return give_nothing(number, node);
            givings_.push_back(Giving::give(job_.services, about_result(node), number, check,
                                            std::move(*memory), bytes));
        });
    job_.services.pool.submit(
        1, 1,
        [memory, result = retained_.on_device](size_t, size_t) {
            (void)memory->pin(result->device());
        },
        job_.services.loop.poster(),
        [memory, room = *room, result = retained_.on_device, landed] {
            result->bring(room, landed);
        },
        kernels::WorkerPool::Pieces::slow);
}

Transfer::About Rounds::about_result(NodeId node, int deadlines) const {
    return {job_.id, fmt::format("the result of round {}", completed_), node, deadlines};
}

// Gives part of the last round's result to a node that lacks it.
void Rounds::give(uint64_t number, uint32_t check, NodeId node, std::span<const std::byte> bytes) {
    if (has_last_result()) {
        if (auto giving =
                Giving::give_copy(job_.services, about_result(node), number, check, bytes)) {
            givings_.push_back(std::move(*giving));
            return;
        }
    }
    give_nothing(number, node);
}

std::shared_ptr<const bool> Rounds::about_to_give() {
    auto held = about_to_give_.lock();
    if (!held) held = std::make_shared<const bool>(true);
    about_to_give_ = held;
    return held;
}

bool Rounds::is_giving() const {
    if (!about_to_give_.expired() || compression_.is_handing_over()) return true;
    return std::any_of(givings_.begin(), givings_.end(),
                       [](const auto& giving) { return !giving.expired(); });
}

void Rounds::stop_gifts(const base::Error& error) {
    for (const auto& weak : givings_) {
        if (const auto giving = weak.lock()) giving->abort(error);
    }
    givings_.clear();
    giving_.end();
}

void Rounds::invalidate(const base::Error& error) {
    preparing_ = 0;
    retained_.drop();
    stop_gifts(error);
    compression_.invalidate(error);
    if (partial_) partial_->reset(error);
    everyone_ = false;
    stop(error);
    leave_view();
}

void Rounds::stop(const base::Error& error) {
    if (active_) active_->abort(error);
}

// The number of what the node fetches in this view.
uint64_t Rounds::number(ExchangeKind kind, NodeId fetcher) const {
    return exchange_number(job_.token, kind, job_.view.epoch, fetcher);
}

uint64_t Rounds::hidden_number(NodeId node, uint64_t part) const {
    return part_number(number(ExchangeKind::hidden, node), part);
}

// Gives the number of bytes and the number of elements that top-k chose; then the bytes.
void Rounds::serve_hidden(NodeId node) {
    const std::array<uint64_t, 2> head{hidden_.bytes.size(), chosen_};
    give(hidden_number(node, 0), 0, node, std::as_bytes(std::span(head)));
    if (!has_last_result() || hidden_.bytes.empty()) return;
    givings_.push_back(Giving::give_held(job_.services, about_result(node), hidden_number(node, 1),
                                         0, hidden_.bytes, hidden_.keep));
}

void Rounds::keep_hidden(std::vector<std::byte> bytes) {
    const size_t size = bytes.size();
    const auto kept = base::released(std::move(bytes), size);
    hidden_ = {kept, *kept};
}

void Rounds::fetch_hidden(NodeId donor) {
    waits_in_ = job_.view.epoch;  // until all of the list has come
    // The donor gives as soon as it has the view, or has nothing to give and says nothing.
    taking_ = Taking::take(
        job_.scope, job_.services, about_result(donor, 1), hidden_number(job_.services.self, 0), 0,
        2 * sizeof(uint64_t),
        [this, donor, epoch = job_.view.epoch](const Result<std::span<const std::byte>>& got) {
            // The next view names another donor, or has named one.
            if (preparing_ != 0 || job_.view.epoch != epoch) return;
            std::array<uint64_t, 2> head_untrusted{};
            if (got) std::memcpy(head_untrusted.data(), got->data(), sizeof(head_untrusted));
            const auto [size, chosen] = head_untrusted;
            const size_t count = sparse::Packed(round_layout_).count();
            if (!got || size > sparse::hidden_bytes_max(count) || chosen > count) {
                if (got) log_hidden_too_large(donor, size);
                result_is_lost();
                return;
            }
            chosen_ = chosen;
            if (size != 0) {
                fetch_hidden_bytes(donor, size);
                return;
            }
            hidden_ = {};
            waits_in_ = 0;
            fetch_from(donor);
        });
}

// Fetches at most as many bytes as a list of these elements may have. They are charged to the job's
// user.
void Rounds::fetch_hidden_bytes(NodeId donor, size_t size) {
    const auto charge = std::make_shared<const Charge>(job_.payer().count(size));
    taking_ = Taking::take_memory(
        job_.scope, job_.services, about_result(donor, 1), hidden_number(job_.services.self, 1), 0,
        size, [this, donor, size, charge, epoch = job_.view.epoch](Result<Scratch> memory) {
            if (preparing_ != 0 || job_.view.epoch != epoch) return;
            if (!memory) {
                result_is_lost();
                return;
            }
            const auto kept =
                std::make_shared<const std::pair<Scratch, std::shared_ptr<const Charge>>>(
                    std::move(*memory), charge);
            hidden_ = {kept, {kept->first.data(), size}};
            waits_in_ = 0;
            fetch_from(donor);
        });
}

void Rounds::log_hidden_too_large(NodeId donor, uint64_t size) const {
    base::log_event(
        base::events::kResultTooLarge,
        {{"job", job_.options.name}, {"peer", job_.services.peers.name(donor)}, {"bytes", size}});
}

}  // namespace pace::daemon
