#include "checker.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace pace::simulation {
namespace {

// The first violations tell the story.
constexpr size_t kViolationsMax = 10;
constexpr size_t kRecentMax = 100'000;

}  // namespace

Checker::Checker(uint32_t world, uint32_t group_size, Duration wait_max)
    : group_size_(group_size), wait_max_(wait_max), ranks_(world) {}

void Checker::allow_only(const std::vector<uint32_t>& edges) {
    for (size_t i = 0; i + 1 < edges.size(); i += 2)
        edges_.insert(std::minmax(edges[i], edges[i + 1]));
}

// `members` are in rank order.
bool Checker::may_average(const std::vector<Rank>& members) const {
    if (edges_.empty()) return true;
    for (size_t i = 0; i < members.size(); ++i)
        for (size_t k = i + 1; k < members.size(); ++k)
            if (!edges_.contains({members[i], members[k]})) return false;
    return true;
}

void Checker::fail(std::string what) {
    if (violations_.size() < kViolationsMax) violations_.push_back(std::move(what));
}

void Checker::forget(Rank rank) {
    ranks_[rank].node = 0;
    ranks_[rank].waiting.reset();
    ranks_[rank].announced = ranks_[rank].expected = false;
}

// A worker that was announced and ordered arrives for that order. It does so if it comes as
// announced and the order stands.
void Checker::on_ready(const From<Ready>& ready, TimePoint now) {
    RankState& rank = ranks_[ready.rank];
    if (rank.node != ready.node) return;  // the daemon does not know yet that it was excluded
    if (ready.stage == ReadyStage::announced) {
        rank.announced = ever_announced_ = true;
        return;
    }
    const bool ordered = std::exchange(rank.expected, false);
    rank.announced = false;
    rank.last_signal = now;
    if (ready.stage == ReadyStage::arrived && ordered) return;
    // An order for a signal that was taken back may be on its way. The next signal replaces the old
    // one.
    if (rank.waiting && !ever_announced_) fail(fmt::format("rank {} signals twice", ready.rank));
    rank.waiting = now;
}

void Checker::before(const Event& event, TimePoint now) {
    if (const auto* ready = std::get_if<From<Ready>>(&event)) on_ready(*ready, now);
    if (const auto* withdraw = std::get_if<From<Withdraw>>(&event))
        ranks_[withdraw->rank].announced = ranks_[withdraw->rank].expected = false;
    if (const auto* done = std::get_if<From<GroupDone>>(&event); done != nullptr && done->failed)
        on_failed(done->group);
    if (const auto* leave = std::get_if<From<WorkerLeave>>(&event)) {
        if (ranks_[leave->rank].node == leave->node) forget(leave->rank);
    }
}

void Checker::after(const Action& action, TimePoint now) {
    if (const auto* order = std::get_if<To<GroupOrder>>(&action)) on_order(*order, now);
    if (const auto* prepare = std::get_if<To<PrepareView>>(&action))
        on_epoch(prepare->epoch, "PrepareView");
    if (const auto* commit = std::get_if<To<CommitView>>(&action)) on_commit(*commit);
    if (const auto* accepted = std::get_if<To<JoinAccepted>>(&action)) {
        if (ranks_[accepted->rank].node != 0)
            fail(fmt::format("rank {} is accepted twice", accepted->rank));
        ranks_[accepted->rank].node = accepted->to.front();
    }
    // All workers of the job had left. The next worker to join begins a new job.
    const auto* note = std::get_if<Note>(&action);
    if (note != nullptr && note->event == "job-ended") epoch_ = 0;
    if (const auto* gone = std::get_if<To<NodeGone>>(&action)) {
        for (Rank rank = 0; rank < ranks_.size(); ++rank) {
            if (ranks_[rank].node == gone->node) forget(rank);
        }
    }
    if (const auto* suspended = std::get_if<To<WorkerSuspended>>(&action)) {
        fail(fmt::format("rank {} is suspended though no round waits", suspended->rank));
    }
}

void Checker::on_epoch(uint64_t epoch, const char* what) {
    if (epoch < epoch_) fail(fmt::format("{} of epoch {} after epoch {}", what, epoch, epoch_));
    epoch_ = epoch;
}

void Checker::on_commit(const CommitView& view) {
    on_epoch(view.epoch, "CommitView");
    for (size_t i = 0; i < view.members.size(); ++i) {
        const Member& member = view.members[i];
        if (i > 0 && view.members[i - 1].rank >= member.rank) fail("a view is not in rank order");
        if (ranks_[member.rank].node != member.node) {
            fail(fmt::format("view {} has rank {}, which is not there", view.epoch, member.rank));
        }
    }
}

// A member that has not arrived for the group signals anew when it arrives.
void Checker::on_failed(GroupId group) {
    const auto members = expecting_.find(group);
    if (members == expecting_.end()) return;
    for (const Rank rank : members->second) ranks_[rank].expected = false;
    expecting_.erase(members);
}

void Checker::end_wait(Rank rank, TimePoint now) {
    RankState& state = ranks_[rank];
    if (!state.waiting && std::exchange(state.announced, false)) {
        state.expected = true;
        ++state.orders;
        return;
    }
    if (!state.waiting) return fail(fmt::format("rank {} is ordered without a signal", rank));
    if (now - *state.waiting > wait_max_) {
        fail(fmt::format("rank {} waited {:.3f} s", rank, base::to_seconds(now - *state.waiting)));
    }
    state.waiting.reset();
    ++state.orders;
}

void Checker::on_order(const GroupOrder& order, TimePoint now) {
    on_epoch(order.epoch, "GroupOrder");
    double sum = order.initial_weight;
    std::vector<Rank> members;
    for (const auto& part : order.members) {
        end_wait(part.rank, now);
        if (!members.empty() && members.back() >= part.rank) fail("a group is not in rank order");
        if (ranks_[part.rank].node != part.node)
            fail(fmt::format("rank {} is ordered at a wrong node", part.rank));
        if (part.iteration > order.iteration) fail("a group goes back in iterations");
        if (part.weight < 0) fail("a weight is negative");
        if (ranks_[part.rank].expected) expecting_[order.group].push_back(part.rank);
        members.push_back(part.rank);
        sum += part.weight;
    }
    if (std::abs(sum - 1) > 1e-9) fail(fmt::format("weights sum to {}", sum));
    if (members.empty() || members.size() > group_size_)
        fail(fmt::format("a group has {} members", members.size()));
    if (!may_average(members)) fail(fmt::format("group {} joins no neighbours", order.group));
    ++groups_;
    if (members.size() == group_size_) ++full_groups_;
    recent_.push_back(std::move(members));
    if (recent_.size() > kRecentMax) recent_.pop_front();
}

void Checker::on_controller_lost() {
    for (Rank rank = 0; rank < ranks_.size(); ++rank) forget(rank);
}

void Checker::at_end(TimePoint now) {
    for (Rank rank = 0; rank < ranks_.size(); ++rank) {
        const RankState& state = ranks_[rank];
        if (state.waiting && now - *state.waiting > wait_max_) {
            fail(fmt::format("rank {} still waits after {:.3f} s", rank,
                             base::to_seconds(now - *state.waiting)));
        }
    }
}

bool Checker::recent_groups_connect(size_t count, TimePoint since) const {
    std::vector<Rank> parent(ranks_.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root = [&](Rank r) {
        while (parent[r] != r) r = parent[r] = parent[parent[r]];
        return r;
    };
    const size_t first = recent_.size() > count ? recent_.size() - count : 0;
    for (size_t g = first; g < recent_.size(); ++g) {
        for (const Rank r : recent_[g]) parent[root(r)] = root(recent_[g].front());
    }
    Rank common = kNoRank;
    for (Rank r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].node == 0 || ranks_[r].last_signal < since) continue;
        if (common == kNoRank) common = root(r);
        if (root(r) != common) return false;
    }
    return true;
}

}  // namespace pace::simulation
