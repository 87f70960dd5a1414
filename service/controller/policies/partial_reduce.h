// PartialReduce: signal queue, group filter and close rule of the paper's controller (Algorithm 2
// and section 4).
//
// P waiting signals of one digest form a group. `group_wait` closes a smaller group, of at least
// `group_min`. P and `group_min` are limited to the number of *counted* workers, so that a lone
// worker gets its own model back at once. Dead, suspended and *frozen* workers do not count. A
// frozen worker has not signalled for ten median steps and at least a second.
//
// The filter keeps the *main kind* connected: the workers with the most common digest, and those
// that have not signalled yet. A worker of another digest can average with none of them, and so
// never bridges. Workers of other digests form groups in order of arrival.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "service/controller/policies/group_filter.h"
#include "service/controller/policies/group_wait.h"
#include "service/controller/policies/policy.h"
#include "service/controller/policies/signal_queue.h"

namespace pace::controller {

class PartialReduce final : public GroupPolicy {
  public:
    // Takes options as check() returns them, with defaults filled in.
    explicit PartialReduce(const JobOptions& options);

    void add_member(Rank rank, NodeId node, TimePoint now) override;
    void know_step(Duration step) override { wait_.on_step(step); }
    void remove_member(Rank rank) override;
    void freeze(Rank rank) override;
    Received add_signal(const Signal& signal) override;
    bool withdraw(Rank rank, TimePoint now) override;
    void release(Rank rank, TimePoint now) override;
    bool next_group(TimePoint now, std::vector<Signal>& ret_group) override;
    std::optional<TimePoint> next_deadline() const override;
    bool is_waiting(Rank rank) const override { return queue_.contains(rank); }
    bool is_frozen(Rank rank) const override { return members_[rank].frozen; }
    uint64_t bridged_groups() const override { return filter_.bridged_groups(); }
    uint64_t conflicts() const override { return 0; }
    PolicyView view() const override;

  private:
    enum class Phase : uint8_t { absent, computing, waiting, exchanging };
    struct MemberState {
        Phase phase = Phase::absent;
        bool frozen = false;
        bool has_digest = false;
        // Whether `since` is the end of an exchange, so that a step can be measured.
        bool has_exchanged = false;
        uint32_t digest = 0;  // of its last signal
        TimePoint since;
        // The neighbours in the list of computing members, ordered by when they began to compute.
        Rank earlier = kNoRank;
        Rank later = kNoRank;
    };

    uint32_t full_size() const;
    uint32_t least_size(uint32_t digest) const;
    uint32_t size_due(uint32_t digest, Rank first, uint32_t size, TimePoint now) const;
    Rank first_behind_held(const SignalQueue::Line& line) const;
    bool choose(const SignalQueue::Line& line, TimePoint now);
    bool choose_behind_held(const SignalQueue::Line& line, TimePoint now);
    void take(TimePoint now, std::vector<Signal>& ret_group);

    void begin_computing(Rank rank, TimePoint now);
    void end_computing(Rank rank);
    void freeze_silent(TimePoint now);
    void set_counted(Rank rank, bool counted);
    bool leave_queue(Rank rank);
    bool is_main_kind(uint32_t digest);
    uint32_t counted_of(uint32_t digest) const;
    bool note_digest(Rank rank, uint32_t digest);

    uint32_t group_size_;
    uint32_t group_min_;
    SignalQueue queue_;
    GroupFilter filter_;
    GroupWait wait_;
    std::vector<MemberState> members_;
    uint32_t counted_ = 0;
    uint32_t counted_without_digest_ = 0;
    std::unordered_map<uint32_t, uint32_t> counted_by_digest_;
    std::optional<uint32_t> main_digest_;  // none before the first signal
    Rank longest_computing_ = kNoRank;
    Rank latest_computing_ = kNoRank;
    std::vector<Rank> chosen_;  // scratch of next_group
};

}  // namespace pace::controller
