// How fast the controller's core decides: groups of three over 10 to 10,000 simulated workers in
// virtual time, the cost of each event measured in real time.
//
//   controller_core_bench [--json FILE] [--groups N]
//
// A decision's latency is the time that handle() took for the ready signal that completed its
// group; where one signal releases several groups, the last of them waited for all. The rate counts
// everything that a group needs: its signals, the order, and the reports of its nodes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <queue>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/random.h"
#include "service/controller/core/core.h"

namespace {

using namespace pace::controller;
using pace::base::to_seconds;

constexpr uint32_t kWorkersPerNode = 8;

struct Result {
    uint32_t workers = 0;
    uint32_t nodes = 0;
    double decisions_per_s = 0;
    double median_s = 0;
    double min_s = 0;
    double max_s = 0;
    double p99_s = 0;
};

// Workers with speeds of their own, that compute, signal, exchange and compute again.
class Workload {
  public:
    Workload(uint32_t workers, uint64_t seed)
        : workers_(workers),
          nodes_((workers + kWorkersPerNode - 1) / kWorkersPerNode),
          random_(seed),
          core_(CoreOptions{}, [] { return uint64_t{0x1234567}; }) {}

    Result run(uint64_t groups) {
        join_all();
        run_groups(groups / 10);  // warm: the window of groups fills
        latencies_.clear();
        busy_ = {};
        run_groups(groups);
        return summary(groups);
    }

  private:
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

    NodeId node_of(Rank rank) const { return rank / kWorkersPerNode + 1; }

    Duration handle(const Event& event) {
        actions_.clear();
        const TimePoint before = pace::base::now();
        core_.handle(event, now_, actions_);
        const Duration took = pace::base::now() - before;
        busy_ += took;
        return took;
    }

    void join_all() {
        JobOptions options;
        options.name = "bench";
        options.world = workers_;
        for (NodeId node = 1; node <= nodes_; ++node)
            handle(NodeAttach{fmt::format("node{}", node), node, {}, "", 8});
        for (Rank rank = 0; rank < workers_; ++rank)
            handle(WorkerJoin{rank, node_of(rank), rank, options});
        for (NodeId node = 1; node <= nodes_; ++node) handle(ViewPrepared{node, 1, 1, 0});
        for (Rank rank = 0; rank < workers_; ++rank) {
            speed_.push_back(5e6 * (1 + 3 * random_.uniform()));  // steps of 5 to 20 ms
            compute(rank);
        }
        iteration_.assign(workers_, 0);
    }

    void compute(Rank rank) {
        const double jitter = 0.9 + 0.2 * random_.uniform();
        steps_.push({now_ + Duration(static_cast<int64_t>(speed_[rank] * jitter)), rank});
    }

    // Every node's heartbeat, ten times a second.
    void keep_alive(TimePoint until) {
        for (; heard_ < until; heard_ += std::chrono::milliseconds(100)) {
            now_ = std::max(now_, heard_);
            for (NodeId node = 1; node <= nodes_; ++node) handle(NodeHeard{node});
        }
    }

    void run_groups(uint64_t groups) {
        uint64_t formed = 0;
        while (formed < groups) {
            const auto deadline = core_.next_deadline();
            const bool ending =
                !endings_.empty() && (steps_.empty() || endings_.top().when <= steps_.top().when);
            const TimePoint next = ending           ? endings_.top().when
                                   : steps_.empty() ? TimePoint::max()
                                                    : steps_.top().when;
            keep_alive(std::min(next, deadline.value_or(next)));
            if (deadline && *deadline < next) {
                now_ = std::max(now_, *deadline);
                formed += take_orders(handle(Tick{}));
            } else if (ending) {
                const Ending done = endings_.top();
                endings_.pop();
                now_ = done.when;
                finish(done);
            } else {
                const Step step = steps_.top();
                steps_.pop();
                now_ = step.when;
                const Duration took =
                    handle(Ready{node_of(step.rank), 1, step.rank, ++iteration_[step.rank], 7});
                formed += take_orders(took);
            }
        }
    }

    uint64_t take_orders(Duration took) {
        uint64_t orders = 0;
        for (const Action& action : actions_) {
            const auto* order = std::get_if<GroupOrder>(&action);
            if (order == nullptr) continue;
            ++orders;
            latencies_.push_back(to_seconds(took));
            NodeId last = 0;
            for (const auto& part : order->members) {
                iteration_[part.rank] = order->iteration;
                exchanging_.push_back({order->group, part.rank});
                if (part.node != last)
                    endings_.push({now_ + std::chrono::milliseconds(1), order->group, part.node});
                last = part.node;
            }
        }
        return orders;
    }

    void finish(const Ending& done) {
        handle(GroupDone{done.node, 1, done.group, false, 1'000'000, 4096});
        // Exchanges end in the order in which they began: the ones looked for are near the front.
        for (auto& [group, rank] : exchanging_) {
            if (group == done.group && rank != kNoRank && node_of(rank) == done.node) {
                compute(rank);
                rank = kNoRank;
            }
            if (group > done.group) break;
        }
        while (!exchanging_.empty() && exchanging_.front().second == kNoRank)
            exchanging_.pop_front();
    }

    Result summary(uint64_t groups) {
        std::sort(latencies_.begin(), latencies_.end());
        const auto at = [&](double q) {
            return latencies_[std::min(
                latencies_.size() - 1,
                static_cast<size_t>(q * static_cast<double>(latencies_.size())))];
        };
        return Result{workers_,
                      nodes_,
                      static_cast<double>(groups) / to_seconds(busy_),
                      at(0.5),
                      latencies_.front(),
                      latencies_.back(),
                      at(0.99)};
    }

    uint32_t workers_;
    uint32_t nodes_;
    pace::base::Random random_;
    Core core_;
    TimePoint now_{};
    TimePoint heard_{};
    Actions actions_;
    Duration busy_{};
    std::vector<double> latencies_;
    std::vector<double> speed_;
    std::vector<uint64_t> iteration_;
    std::deque<std::pair<GroupId, Rank>> exchanging_;
    std::priority_queue<Step, std::vector<Step>, std::greater<>> steps_;
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
};

std::string to_json(const std::vector<Result>& results) {
    std::string text = "[";
    for (const Result& r : results) {
        text += fmt::format(
            "{}\n  {{\"bench\": \"controller\", \"implementation\": \"pace\", \"workers\": {}, "
            "\"nodes\": {}, "
            "\"bytes\": 0, \"median_s\": {:.9f}, \"min_s\": {:.9f}, \"max_s\": {:.9f}, "
            "\"floor_s\": null, "
            "\"decisions_per_s\": {:.0f}, \"p99_s\": {:.9f}}}",
            text.size() == 1 ? "" : ",", r.workers, r.nodes, r.median_s, r.min_s, r.max_s,
            r.decisions_per_s, r.p99_s);
    }
    return text + "\n]\n";
}

}  // namespace

int main(int argc, char** argv) {
    std::string json;
    uint64_t groups = 200'000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--json") == 0) json = argv[i + 1];
        if (std::strcmp(argv[i], "--groups") == 0) groups = std::strtoull(argv[i + 1], nullptr, 10);
    }
    if (groups < 10) groups = 10;
    std::vector<Result> results;
    for (const uint32_t workers : {10U, 1'000U, 10'000U}) {
        const Result r = Workload(workers, 1).run(groups);
        fmt::print(
            "{:>6} workers: {:>9.0f} decisions/s, latency median {:.1f} us, 99 % {:.1f} us, max "
            "{:.0f} us\n",
            r.workers, r.decisions_per_s, r.median_s * 1e6, r.p99_s * 1e6, r.max_s * 1e6);
        results.push_back(r);
    }
    if (json.empty()) return 0;
    std::ofstream file(json);
    file << to_json(results);
    file.close();
    if (!file) fmt::print(stderr, "cannot write {}\n", json);
    return file ? 0 : 1;
}
