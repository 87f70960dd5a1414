// Checker: what must hold at every step of a simulated cluster, whatever faults happen in it.
//
// The checker sees each event just before the core does, and each action just after. It keeps the
// least state that tells right from wrong: on which node each rank is accepted, which signals wait,
// and which epochs were issued.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "service/controller/core/core.h"

namespace pace::simulation {

using namespace controller;

class Checker {
  public:
    // No signal may wait longer than `wait_max`.
    Checker(uint32_t world, uint32_t group_size, Duration wait_max);

    // Only these pairs of ranks may average. Without a call, all pairs may.
    void allow_only(const std::vector<uint32_t>& edges);

    void before(const Event& event, TimePoint now);
    void after(const Action& action, TimePoint now);
    void on_controller_lost();
    void at_end(TimePoint now);

    // Returns whether the last `count` groups join all ranks that are accepted and signalled after
    // `since`.
    bool recent_groups_connect(size_t count, TimePoint since) const;

    const std::vector<std::string>& violations() const { return violations_; }
    uint64_t groups() const { return groups_; }
    uint64_t full_groups() const { return full_groups_; }
    uint64_t orders_of(Rank rank) const { return ranks_[rank].orders; }

  private:
    struct RankState {
        NodeId node = 0;                   // 0 means not accepted
        std::optional<TimePoint> waiting;  // since this time
        bool announced = false;            // it may be ordered before it waits
        bool expected = false;             // it is announced and has been ordered
        TimePoint last_signal{};
        uint64_t orders = 0;
    };

    void on_failed(GroupId group);
    bool may_average(const std::vector<Rank>& members) const;
    void on_ready(const From<Ready>& ready, TimePoint now);
    void on_order(const GroupOrder& order, TimePoint now);
    void on_commit(const CommitView& view);
    void on_epoch(uint64_t epoch, const char* what);
    void end_wait(Rank rank, TimePoint now);
    void forget(Rank rank);
    void fail(std::string what);

    uint32_t group_size_;
    Duration wait_max_;
    std::vector<RankState> ranks_;
    std::set<std::pair<Rank, Rank>> edges_;
    std::deque<std::vector<Rank>> recent_;
    // By group, the members that were only announced.
    std::map<GroupId, std::vector<Rank>> expecting_;
    bool ever_announced_ = false;
    uint64_t epoch_ = 0;
    uint64_t groups_ = 0;
    uint64_t full_groups_ = 0;
    std::vector<std::string> violations_;
};

}  // namespace pace::simulation
