// Workload: simulated workers and daemons around a core, in virtual time. The cost of each event is
// measured in real time. Workers compute, signal, exchange and compute again, each at its own
// speed.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/random.h"
#include "service/controller/core/core.h"

namespace pace::bench {

using namespace controller;
using base::to_seconds;

struct Scenario {
    const char* name;  // the name in results
    uint32_t workers = 0;
    // The share of workers whose step takes half a second, instead of 5 to 20 ms.
    double stragglers = 0;
    // The interval at which a worker dies and another takes its place. Zero means never.
    Duration churn{};
};

struct Result {
    Scenario scenario;
    uint32_t nodes = 0;
    double decisions_per_s = 0;
    double median_s = 0;
    double min_s = 0;
    double max_s = 0;
    double p99_s = 0;
    double longest_event_s = 0;
    double status_s = 0;
};

class Workload {
  public:
    Workload(const Scenario& scenario, uint64_t seed)
        : scenario_(scenario),
          nodes_((scenario.workers + kWorkersPerNode - 1) / kWorkersPerNode),
          random_(seed),
          core_(CoreOptions{}, [] { return uint64_t{0x1234567}; }) {}

    Result run(uint64_t groups);

  private:
    static constexpr uint32_t kWorkersPerNode = 8;

    struct Step {
        TimePoint when;
        Rank rank = 0;
        bool operator>(const Step& other) const { return when > other.when; }
    };
    struct Ending {
        TimePoint when;
        GroupId group = 0;
        NodeId node = 0;
        bool operator>(const Ending& other) const { return when > other.when; }
    };
    template <typename T>
    using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

    NodeId node_of(Rank rank) const { return rank / kWorkersPerNode + 1; }

    void handle(const Event& event);
    void take_orders(Duration latency);
    void answer_views();
    void join_all();
    void compute(Rank rank);
    void keep_alive(TimePoint until);
    void replace_somebody();
    void run_groups(uint64_t groups);
    void finish(const Ending& done);
    Result summary(uint64_t groups);

    Scenario scenario_;
    uint32_t nodes_;
    base::Random random_;
    Core core_;
    JobOptions options_;
    TimePoint now_{};
    TimePoint heard_{};
    TimePoint replaced_{};
    Actions actions_;
    // The time in the core, in real time.
    Duration busy_{};
    Duration longest_{};  // the longest event
    // The value of busy_ at the event that made the next orders due.
    Duration due_since_{};
    // The event did not order at once.
    bool orders_are_due_ = false;
    uint64_t formed_ = 0;
    std::vector<double> latencies_;
    std::vector<double> step_ns_;
    std::vector<uint64_t> iteration_;
    std::vector<bool> computing_;
    std::vector<From<ViewPrepared>> answers_;
    std::deque<std::pair<GroupId, Rank>> exchanging_;
    Earliest<Step> steps_;
    Earliest<Ending> endings_;
};

inline Result Workload::run(uint64_t groups) {
    join_all();
    run_groups(groups / 10);  // warm-up: the window of groups fills
    latencies_.clear();
    busy_ = longest_ = {};
    run_groups(groups);
    return summary(groups);
}

// A group's latency is the core's time from the event that made it due to the end of the event that
// ordered it. The order can go out at this end. The two events differ when many groups are due at
// once.
inline void Workload::handle(const Event& event) {
    actions_.clear();
    if (!orders_are_due_) due_since_ = busy_;
    const TimePoint before = base::now();
    core_.handle(event, now_, actions_);
    const auto deadline = core_.next_deadline();
    const Duration took = base::now() - before;
    busy_ += took;
    longest_ = std::max(longest_, took);
    orders_are_due_ = deadline && *deadline <= now_;
    take_orders(busy_ - due_since_);
    answer_views();
}

inline void Workload::take_orders(Duration latency) {
    for (const Action& action : actions_) {
        if (const auto* prepare = std::get_if<To<PrepareView>>(&action))
            answers_.push_back(
                from(prepare->to.front(), ViewPrepared{prepare->job, prepare->epoch, 0}));
        const auto* order = std::get_if<To<GroupOrder>>(&action);
        if (order == nullptr) continue;
        ++formed_;
        latencies_.push_back(to_seconds(latency));
        std::vector<NodeId> nodes;
        for (const auto& part : order->members) {
            iteration_[part.rank] = order->iteration;
            exchanging_.push_back({order->group, part.rank});
            if (std::find(nodes.begin(), nodes.end(), part.node) == nodes.end())
                nodes.push_back(part.node);
        }
        for (const NodeId node : nodes)
            endings_.push({now_ + std::chrono::milliseconds(1), order->group, node});
    }
}

inline void Workload::answer_views() {
    std::vector<From<ViewPrepared>> answers;
    answers.swap(answers_);
    for (const From<ViewPrepared>& answer : answers) handle(answer);
}

inline void Workload::join_all() {
    options_.name = "bench";
    options_.world = scenario_.workers;
    computing_.assign(scenario_.workers, false);
    iteration_.assign(scenario_.workers, 0);
    for (NodeId node = 1; node <= nodes_; ++node)
        handle(Hello{0, fmt::format("node{}", node), node, {}, "", 8});
    for (Rank rank = 0; rank < scenario_.workers; ++rank)
        handle(from(node_of(rank), WorkerJoin{rank, rank, options_}));
    for (Rank rank = 0; rank < scenario_.workers; ++rank) {
        const bool slow = random_.uniform() < scenario_.stragglers;
        step_ns_.push_back(slow ? 5e8 : 5e6 * (1 + 3 * random_.uniform()));
        compute(rank);
    }
}

inline void Workload::compute(Rank rank) {
    const double jitter = 0.9 + 0.2 * random_.uniform();
    steps_.push({now_ + Duration(static_cast<int64_t>(step_ns_[rank] * jitter)), rank});
    computing_[rank] = true;
}

// Sends every node's heartbeat ten times a second.
inline void Workload::keep_alive(TimePoint until) {
    for (; heard_ < until; heard_ += std::chrono::milliseconds(100)) {
        now_ = std::max(now_, heard_);
        for (NodeId node = 1; node <= nodes_; ++node) handle(NodeHeard{node});
    }
}

// A trainer dies while it computes, and its successor is there at once.
inline void Workload::replace_somebody() {
    if (scenario_.churn.count() == 0 || now_ - replaced_ < scenario_.churn) return;
    replaced_ = now_;
    const auto rank = static_cast<Rank>(random_.below(scenario_.workers));
    if (!computing_[rank]) return;
    handle(from(node_of(rank), WorkerLeave{1, rank, false}));
    handle(from(node_of(rank), WorkerJoin{rank, rank, options_}));
}

inline void Workload::run_groups(uint64_t groups) {
    for (formed_ = 0; formed_ < groups;) {
        const TimePoint step = steps_.empty() ? TimePoint::max() : steps_.top().when;
        const TimePoint ending = endings_.empty() ? TimePoint::max() : endings_.top().when;
        const TimePoint next = std::min(step, ending);
        const auto deadline = core_.next_deadline();
        keep_alive(std::min(next, deadline.value_or(next)));
        replace_somebody();
        if (deadline && *deadline <= next) {
            now_ = std::max(now_, *deadline);
            handle(Tick{});
        } else if (ending <= step) {
            const Ending done = endings_.top();
            endings_.pop();
            now_ = std::max(now_, done.when);
            finish(done);
        } else {
            const Rank rank = steps_.top().rank;
            steps_.pop();
            now_ = std::max(now_, step);
            computing_[rank] = false;
            handle(from(node_of(rank), Ready{1, rank, ++iteration_[rank], 7}));
        }
    }
}

inline void Workload::finish(const Ending& done) {
    handle(from(done.node, GroupDone{1, done.group, false, 1'000'000, 4096}));
    // Exchanges end in the order in which they began. So the search ends near the front.
    for (auto& [group, rank] : exchanging_) {
        if (group == done.group && rank != kNoRank && node_of(rank) == done.node) {
            compute(rank);
            rank = kNoRank;
        }
        if (group > done.group) break;
    }
    while (!exchanging_.empty() && exchanging_.front().second == kNoRank) exchanging_.pop_front();
}

}  // namespace pace::bench
