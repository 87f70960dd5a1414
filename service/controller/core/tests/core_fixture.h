// Core fixture: a core under a virtual clock, with daemons that answer as told. For tests only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/controller/core/core.h"
#include "service/controller/core/status/status.h"

namespace pace::controller {

// The action that is a T or contains a T.
template <typename T, typename... Actions>
std::conditional_t<(std::is_same_v<T, Actions> || ...), T, To<T>> sent_of(
    const std::variant<Actions...>&);
template <typename T>
using Sent = decltype(sent_of<T>(std::declval<Action>()));

class CoreFixture {
  public:
    explicit CoreFixture(CoreOptions options = {}) : options_(options) { restart(); }

    // Starts a new life of the controller, without its journal unless replay_journal() follows.
    void restart() {
        static uint64_t lives = 0;
        ++lives;
        core_ = std::make_unique<Core>(options_, [] {
            if (has_distinct_tokens_) ++tokens_;
            return (lives << 40U) + tokens_;
        });
    }
    void replay_journal() { replay_journal(journal_.size()); }
    void forget_journal() { journal_.clear(); }
    // Replays as if only the first `records` records had become durable.
    void replay_journal(size_t records) {
        journal_.resize(records);
        for (const auto& record : journal_) {
            EXPECT_TRUE(core_->replay(record));
        }
        core_->replay_finished(now_);
    }

    void send(const Event& event) {
        const size_t before = actions_.size();
        core_->handle(event, now_, actions_);
        for (size_t i = before; i < actions_.size(); ++i) {
            if (const auto* append = std::get_if<JournalAppend>(&actions_[i]))
                journal_.push_back(append->record);
        }
        if (!answers_views_) return;
        std::vector<To<PrepareView>> asked;
        for (size_t i = before; i < actions_.size(); ++i) {
            if (const auto* prepare = std::get_if<To<PrepareView>>(&actions_[i]))
                asked.push_back(*prepare);
        }
        for (const To<PrepareView>& prepare : asked) {
            const NodeId node = prepare.to.front();
            send(from(node, ViewPrepared{.job = prepare.job,
                                         .epoch = prepare.epoch,
                                         .completed = completed_,
                                         .without_model = without_model_[node]}));
        }
    }

    // All actions of a kind since the last take or clear.
    template <typename T>
    std::vector<Sent<T>> sent() const {
        std::vector<Sent<T>> found;
        for (const Action& action : actions_) {
            if (const auto* one = std::get_if<Sent<T>>(&action)) found.push_back(*one);
        }
        return found;
    }
    template <typename T>
    std::vector<Sent<T>> take() {
        std::vector<Sent<T>> found = sent<T>();
        actions_.clear();
        return found;
    }
    void clear() { actions_.clear(); }

    // Lets time pass, with ticks when they are due.
    void pass(Duration duration) {
        const TimePoint until = now_ + duration;
        while (core_->next_deadline() && *core_->next_deadline() <= until) {
            now_ = std::max(now_, *core_->next_deadline());
            send(Tick{});
        }
        now_ = until;
    }
    void hear(const std::vector<NodeId>& nodes) {
        for (const NodeId node : nodes) send(NodeHeard{node});
    }
    // Like pass(), while these nodes send heartbeats every 100 ms.
    void pass_hearing(Duration duration, const std::vector<NodeId>& nodes) {
        for (Duration passed{}; passed < duration; passed += std::chrono::milliseconds(100)) {
            pass(std::chrono::milliseconds(100));
            hear(nodes);
        }
    }

    NodeId attach(const std::string& name, NodeId last_id = 0) {
        return attach(Hello{0, name, 1, {std::byte{1}}, "host", 8, last_id});
    }
    // Attaches a daemon that is in its trainer's process.
    NodeId attach_hosted(const std::string& name) {
        return attach(Hello{0, name, 1, {std::byte{1}}, "host", 8, 0, "", 0, true});
    }
    NodeId attach(const Hello& event) {
        send(event);
        NodeId id = 0;
        for (const auto& attached : sent<Attached>()) {
            if (attached.name == event.name) id = attached.node;
        }
        return id;
    }
    void join(NodeId node, Rank rank, const JobOptions& options) {
        send(from(node, WorkerJoin{rank + 100, rank, options, 1000, false, 0, 0, 0}));
    }
    // Joins the existing run, though all its workers may have died.
    void come_back(NodeId node, Rank rank, const JobOptions& options) {
        auto event = from(node, WorkerJoin{rank + 100, rank, options, 1000, false, 0, 0, 0});
        event.rerun = Rerun::never;
        send(event);
    }
    void resume(NodeId node, Rank rank, const JobOptions& options, uint64_t epoch) {
        send(from(node, WorkerJoin{rank + 100, rank, options, 1000, true, 5, 3, epoch}));
    }

    // Starts `world` workers, `per_node` on each node. Returns the nodes.
    std::vector<NodeId> start(const JobOptions& options, uint32_t per_node = 1) {
        std::vector<NodeId> nodes;
        for (Rank rank = 0; rank < options.world; ++rank) {
            if (rank % per_node == 0)
                nodes.push_back(attach("node" + std::to_string(rank / per_node)));
            join(nodes.back(), rank, options);
        }
        return nodes;
    }

    JobView job(JobId id = 1) const {
        for (JobView& view : core_->status(now_).jobs) {
            if (view.job == id) return view;
        }
        return {};
    }
    WorkerStatus status_of(Rank rank) const {
        for (const WorkerView& worker : job().workers) {
            if (worker.rank == rank) return worker.status;
        }
        return WorkerStatus::lost;
    }

    Core& core() { return *core_; }
    TimePoint now() const { return now_; }
    void answer_views(bool yes) { answers_views_ = yes; }
    void complete_rounds(uint64_t rounds) { completed_ = rounds; }
    // Sets what the node's daemon reports of its workers from now on.
    void without_model(NodeId node, std::vector<Rank> ranks) {
        without_model_[node] = std::move(ranks);
    }
    const std::vector<std::vector<std::byte>>& journal() const { return journal_; }
    // From now on no random number of the core's is given twice. Otherwise each life has one.
    static void make_tokens_distinct() { has_distinct_tokens_ = true; }

  private:
    static inline bool has_distinct_tokens_ = false;
    static inline uint64_t tokens_ = 0;
    CoreOptions options_;
    std::unique_ptr<Core> core_;
    TimePoint now_{std::chrono::seconds(1000)};
    Actions actions_;
    std::vector<std::vector<std::byte>> journal_;
    bool answers_views_ = true;
    uint64_t completed_ = 0;
    std::map<NodeId, std::vector<Rank>> without_model_;
};

inline JobOptions averaging(uint32_t world, uint32_t group_size = 0) {
    JobOptions options;
    options.name = "job";
    options.world = world;
    options.group_size = group_size;
    return options;
}

inline JobOptions reducing(uint32_t world) {
    JobOptions options;
    options.name = "job";
    options.world = world;
    options.policy = Policy::all_reduce;
    return options;
}

}  // namespace pace::controller
