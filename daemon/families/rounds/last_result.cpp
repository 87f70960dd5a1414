#include "daemon/families/rounds/last_result.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/threads/release_thread.h"
#include "daemon/families/rounds/round_plan.h"
#include "daemon/families/rounds/told_round.h"

namespace pace::daemon {

using base::Result;

// --------------------------------------------------------------------------------- the next result

bool LastResult::may_form_here(const Exchange::Plan& plan) const {
    const size_t bytes = plan.layout.bytes();
    if (plan.nodes.size() <= 1 || bytes == 0) return false;
    if (!valid_ || plan.kind == Exchange::Kind::fetch) return true;
    return plan.kind == Exchange::Kind::reduce && memory_.fits(bytes);
}

Scratch LastResult::lend(const Exchange::Plan& plan) {
    lent_ = may_form_here(plan);
    return lent_ ? std::exchange(memory_, {}) : Scratch();
}

void LastResult::lose_lent() {
    if (std::exchange(lent_, false)) drop();
}

void LastResult::keep(ExchangeOutcome& outcome) {
    if (outcome && outcome.has_other_nodes()) {
        keep(outcome.plan->layout.bytes(), outcome.plan->check);
        if (!outcome.is_fetch()) {
            const size_t size = outcome.hidden.size();
            const auto kept = base::released(std::move(outcome.hidden), size);
            hide(outcome.entries, *kept, kept);
        }
        on_device_ = std::move(outcome.on_device);
        unmet_ = outcome.plan->nodes;
        std::erase(unmet_, job_.services.self);
        // A barrier has no result, and leaves the memory to the next round.
        if (bytes_ != 0) memory_ = std::move(outcome.scratch);
    } else if (lent_) {
        memory_ = std::move(outcome.scratch);
        if (outcome.scratch_touched) drop();
    }
    lent_ = false;
}

void LastResult::keep(size_t bytes, uint32_t check) {
    valid_ = true;
    round_ = sequence_.completed();
    epoch_ = sequence_.round_view().epoch;
    bytes_ = bytes;
    check_ = check;
    on_device_.reset();
    lent_out_.reset();  // of an earlier result
    borrowers_ = 0;
}

Scratch LastResult::take_memory() {
    drop();
    return std::exchange(memory_, {});
}

void LastResult::put_back(Scratch memory) {
    if (memory.size() != 0) memory_ = std::move(memory);
}

void LastResult::drop() {
    valid_ = false;
    on_device_.reset();
}

void LastResult::met(const std::vector<NodeId>& nodes) {
    if (!valid_) return;
    for (const NodeId node : nodes) std::erase(unmet_, node);
    if (unmet_.empty()) drop();
}

Scratch LastResult::spare_memory() {
    return valid_ ? Scratch() : std::exchange(memory_, {});
}

void LastResult::hide(uint64_t chosen, std::span<const std::byte> hidden,
                      std::shared_ptr<const void> keep) {
    chosen_ = chosen;
    hidden_ = hidden;
    hidden_keep_ = std::move(keep);
}

// --------------------------------------------------------------------------------- for other nodes

Transfer::About LastResult::about(NodeId node, int deadlines) const {
    return {job_.id, fmt::format("the result of round {}", sequence_.completed()), node, deadlines};
}

void LastResult::serve(NodeId node) {
    if (protocol::is_partial(job_.options))
        give_few(fetch_number(job_, ExchangeKind::fetch_told, node), kToldRoundCheck, node, told_);
    if (protocol::is_top_k(job_.options.compression)) give_hidden(node);
    give_result(node);
}

void LastResult::give_few(uint64_t number, uint32_t check, NodeId node,
                          std::span<const std::byte> bytes) {
    if (is_here()) {
        if (auto giving = Giving::give_copy(job_.services, about(node), number, check, bytes)) {
            givings_.push_back(std::move(*giving));
            return;
        }
    }
    give_nothing(number, node);
}

// The other node hears that this one gives nothing under this number. What that node says about the
// number is not kept.
void LastResult::give_nothing(uint64_t number, NodeId node) {
    send_poison(job_.services, number, {node});
    job_.services.transport.close_exchange(number);
}

// Gives the number of bytes and the number of elements that top-k chose; then the bytes.
void LastResult::give_hidden(NodeId node) {
    const std::array<uint64_t, 2> head{hidden_.size(), chosen_};
    give_few(hidden_number(job_, node, 0), 0, node, std::as_bytes(std::span(head)));
    if (!is_here() || hidden_.empty()) return;
    givings_.push_back(Giving::give_held(job_.services, about(node), hidden_number(job_, node, 1),
                                         0, hidden_, hidden_keep_));
}

// Gives a copy, since the result goes when the next round commits, and the other node may take
// longer.
void LastResult::give_result(NodeId node) {
    const uint64_t number = fetch_number(job_, ExchangeKind::fetch, node);
    const auto copy = std::make_shared<Scratch>();
    if (!is_here() || !copy->reserve(bytes_, job_.payer())) return give_nothing(number, node);
    const Came came = giving_.bind([this, copy, number, node, bytes = bytes_, check = check_,
                                    held = about_to_give()](const Result<>& got) {
        if (!got) return give_nothing(number, node);
        givings_.push_back(
            Giving::give(job_.services, about(node), number, check, std::move(*copy), bytes));
    });
    if (on_device_) return copy_from_gpu(copy, came);
    copy_here(copy, came);
}

void LastResult::copy_here(const std::shared_ptr<Scratch>& copy, const Came& came) {
    if (!lent_out_) lent_out_ = std::make_shared<Scratch>(std::move(memory_));
    ++borrowers_;
    const std::shared_ptr<Scratch> result = lent_out_;
    const auto copied = job_.scope.callback([this, result, came] {
        // The last borrower gives the memory back, unless there is other memory by now.
        if (lent_out_ == result && --borrowers_ == 0) {
            if (memory_.size() == 0) memory_ = std::move(*result);
            lent_out_.reset();
        }
        came({});
    });
    job_.services.aside().run(
        2 * bytes_, bytes_, kernels::Aside::kGrainBytes,
        [result, copy](size_t begin, size_t end) {
            std::memcpy(copy->data() + begin, result->data() + begin, end - begin);
        },
        copied);
}

// The copy's memory is pinned first, off the loop: to memory that is not pinned, the driver would
// copy while the loop waits.
void LastResult::copy_from_gpu(const std::shared_ptr<Scratch>& copy, const Came& came) {
    const auto pinned = std::make_shared<Result<>>();
    job_.services.pool.submit(
        1, 1,
        [copy, pinned, result = on_device_](size_t, size_t) {
            *pinned = copy->pin(result->device());
        },
        job_.services.loop.poster(),
        [copy, pinned, bytes = bytes_, result = on_device_, came] {
            if (!*pinned) return came(*pinned);
            result->bring({copy->data(), bytes}, came);
        },
        kernels::WorkerPool::Pieces::slow);
}

std::shared_ptr<const bool> LastResult::about_to_give() {
    auto held = about_to_give_.lock();
    if (!held) held = std::make_shared<const bool>(true);
    about_to_give_ = held;
    return held;
}

bool LastResult::is_giving() const {
    if (!about_to_give_.expired()) return true;
    return std::any_of(givings_.begin(), givings_.end(),
                       [](const auto& giving) { return !giving.expired(); });
}

void LastResult::stop_giving(const base::Error& error) {
    for (const auto& weak : givings_) {
        if (const auto giving = weak.lock()) giving->abort(error);
    }
    givings_.clear();
    giving_.end();
}

}  // namespace pace::daemon
