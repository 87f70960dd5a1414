// Server fixture: daemons of a server job that keep what the core tells them about the model, and
// report it.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {

inline JobOptions serving(uint32_t world, Policy policy = Policy::asp) {
    JobOptions options;
    options.name = "job";
    options.world = world;
    options.policy = policy;
    options.elements = 100;
    options.rate = Rate::dynamic;
    return options;
}

class Hosts {
  public:
    Hosts() { fixture.answer_views(false); }

    void send(const Event& event) {
        if (const auto* lost = std::get_if<NodeLost>(&event)) attached_.erase(lost->node);
        fixture.send(event);
        settle();
    }
    // Lets time pass, while the nodes are heard.
    void pass(Duration duration) {
        constexpr Duration kStep = std::chrono::milliseconds(100);
        for (Duration passed{}; passed < duration; passed += kStep) {
            fixture.pass(kStep);
            settle();
            for (const NodeId node : attached_) send(NodeHeard{node});
        }
    }

    // The node no longer receives messages for an earlier attachment.
    NodeId attach(const std::string& name, NodeId last = 0) {
        const NodeId node = fixture.attach(name, last);
        missed_ = {node, fixture.sent<ServerOrder>().size()};
        attached_.insert(node);
        send(NodeHeard{node});
        return node;
    }
    void join(NodeId node, Rank rank, const JobOptions& options) {
        send(from(node, WorkerJoin{rank + 100, rank, options, 1000, false, 0, 0, 0}));
        node_of[rank] = node;
    }
    // Joins a session that only reconnects.
    void come_back(NodeId node, Rank rank, const JobOptions& options) {
        auto event = from(node, WorkerJoin{rank + 100, rank, options, 1000, false, 0, 0, 0});
        event.rerun = Rerun::never;
        send(event);
        node_of[rank] = node;
    }
    std::vector<NodeId> start(const JobOptions& options) {
        std::vector<NodeId> nodes;
        for (Rank rank = 0; rank < options.world; ++rank) {
            nodes.push_back(attach("node" + std::to_string(rank)));
            join(nodes.back(), rank, options);
        }
        return nodes;
    }
    // The node receives nothing of what has been sent and is not yet handled.
    void missed_everything_so_far(NodeId node) {
        missed_ = {node, fixture.sent<ServerOrder>().size()};
    }
    void push(Rank rank, uint64_t clock) {
        send(from(node_of[rank], ServerStored{1, view.generation, rank, clock}));
    }
    void pull(Rank rank, uint64_t clock) {
        send(from(node_of[rank], ServerAsked{1, view.generation, rank, clock, clock}));
    }
    std::vector<ServerStep> take_steps() { return std::exchange(steps, {}); }
    // The number of generations so far, as far as the nodes know.
    uint64_t generations() const { return view.generation >> 32U; }

    CoreFixture fixture;
    To<CommitView> view;  // the last
    std::map<NodeId, ServerReport> reports;
    std::vector<ServerStep> steps;  // of the order, as the first node receives it
    std::set<NodeId> deaf;          // receive nothing more
    std::map<Rank, NodeId> node_of;
    std::vector<NodeId> ended;                        // were told to forget the job
    std::vector<Rank> suspended;                      // whose nodes were told so
    std::map<uint64_t, ServerLedger> at_checkpoints;  // by position
    uint64_t token = 0;                               // of the job

  private:
    void settle() {
        for (;;) {
            const auto asked = fixture.sent<PrepareView>();
            hear_orders();
            fixture.clear();
            if (asked.empty()) return;
            for (const To<PrepareView>& prepare : asked) {
                token = prepare.token;
                auto answer =
                    from(prepare.to.front(), ViewPrepared{prepare.job, prepare.epoch, 0, 0, 0, {}});
                answer.server = reports[prepare.to.front()];
                fixture.send(answer);
            }
        }
    }
    void hear_orders() {
        for (const To<CommitView>& commit : fixture.sent<CommitView>()) hear(commit);
        const auto [late, missed] = std::exchange(missed_, {});
        size_t said = 0;
        for (const To<ServerOrder>& order : fixture.sent<ServerOrder>()) {
            ++said;
            for (const NodeId node : order.to) {
                ServerReport& report = reports[node];
                if (!attached_.contains(node) || deaf.contains(node)) continue;
                if (node == late && said <= missed) continue;
                if (order.generation != report.generation) continue;
                for (const ServerEntry& entry : order.entries) hear(report, entry);
            }
            for (const ServerEntry& entry : order.entries) steps.push_back(entry.step);
        }
        for (const To<WorkerSuspended>& told : fixture.sent<WorkerSuspended>())
            suspended.push_back(told.rank);
        for (const To<JobEnded>& end : fixture.sent<JobEnded>()) ended = end.to;
    }
    void hear(const To<CommitView>& commit) {
        view = commit;
        if (commit.generation == 0) return;
        for (const NodeId node : commit.to) {
            ServerReport& report = reports[node];
            if (report.generation == commit.generation)
                for (const ServerEntry& entry : commit.missed)
                    if (entry.position > report.ledger.position) hear(report, entry);
            if (report.generation == commit.generation && !report.shards.empty()) {
                EXPECT_EQ(report.ledger.position, commit.ledger.position);
            }
            if (report.generation != commit.generation) report.tail.clear();
            // A node that was not there from the beginning has no model to give.
            if (report.generation != commit.generation && !commit.model_begins) {
                EXPECT_EQ(std::count(commit.shards.begin(), commit.shards.end(), node), 0);
            }
            report.generation = commit.generation;
            report.model_lost = commit.model_lost;
            report.ledger = commit.ledger;
            report.places = commit.shards;
            report.shards.clear();
            for (uint32_t shard = 0; shard < commit.shards.size(); ++shard)
                if (commit.shards[shard] == node) report.shards.push_back(shard);
        }
    }
    void hear(ServerReport& report, const ServerEntry& entry) {
        EXPECT_EQ(entry.position, report.ledger.position + 1);
        ServerLedger& ledger = report.ledger;
        ledger.position = entry.position;
        if (entry.step == ServerStep::checkpoint) at_checkpoints[entry.position] = ledger;
        if (entry.step != ServerStep::checkpoint && entry.step != ServerStep::assign)
            std::erase_if(ledger.workers,
                          [&](const auto& worker) { return worker.rank == entry.worker.rank; });
        if (entry.step == ServerStep::push) {
            ++ledger.pushes;
            ledger.fastest = std::max(ledger.fastest, entry.clock + 1);
            const auto version =
                std::find_if(ledger.versions.begin(), ledger.versions.end(),
                             [&](const auto& other) { return other.version == entry.version; });
            if (version == ledger.versions.end()) {
                ledger.versions.push_back({entry.version, 1});
            } else {
                ++version->updates;
            }
        }
        const bool of_worker = entry.step == ServerStep::push || entry.step == ServerStep::pull ||
                               entry.step == ServerStep::join;
        if (of_worker) ledger.workers.push_back(entry.worker);
        for (const uint64_t expired : entry.expired)
            std::erase_if(ledger.versions,
                          [&](const auto& version) { return version.version == expired; });
        report.tail.push_back(entry);
    }

    std::set<NodeId> attached_;
    // The node that attached last, and how many of the unhandled orders were sent before.
    std::pair<NodeId, size_t> missed_{};
};

}  // namespace pace::controller
