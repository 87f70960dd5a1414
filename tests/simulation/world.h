// World: a cluster of simulated daemons and trainers around a real core, in virtual time.
//
// Messages between a daemon and the controller take a random time and keep their order, as over one
// ZeroMQ connection. A message on its way to a process that dies is lost. A daemon announces its
// workers, exchanges when told, and aborts by itself when a peer is gone. It attaches again after
// it was excluded or the controller restarted.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "checker.h"
#include "service/controller/core/core.h"

namespace pace::simulation {

// Returns deterministic numbers for job secrets and similar values.
uint64_t next_token();

// The mean times between faults, over the whole cluster. Zero means never.
struct Faults {
    Duration trainer_dies{};
    Duration trainer_leaves{};
    Duration trainer_freezes{};
    Duration node_dies{};
    Duration controller_restarts{};
};

struct Scenario {
    uint64_t seed = 1;
    JobOptions job;
    uint32_t per_node = 8;
    // Nodes lie in the zones in turn. 0 means that no node reports its zone.
    uint32_t zones = 0;
    // The step of the fastest workers.
    Duration step = std::chrono::milliseconds(20);
    // The slowest worker takes this many times longer.
    double spread = 4;
    // Trainers announce their steps. By chance they keep the announcement, break it, or take it
    // back.
    bool announcements = false;
    Duration length = std::chrono::seconds(5);
    Faults faults;
};

class World {
  public:
    explicit World(const Scenario& scenario);
    void run();

    Checker& checker() { return checker_; }
    Core& core() { return *core_; }
    TimePoint now() const { return now_; }

  private:
    struct Task {
        TimePoint when;
        uint64_t order = 0;
        std::function<void()> run;
        bool operator>(const Task& other) const {
            return when != other.when ? when > other.when : order > other.order;
        }
    };
    enum class Phase : uint8_t { dead, joining, adopting, computing, waiting, exchanging };
    struct Trainer {
        Phase phase = Phase::dead;
        size_t node = 0;
        uint64_t life = 0;          // of its process
        bool accepted = false;      // in the current attachment of its daemon
        bool was_accepted = false;  // since it was opened: its daemon announces it with `resume`
        bool was_member = false;    // since it was opened
        uint64_t iteration = 0;
        double step_ns = 0;
        GroupId group = 0;
        std::optional<uint64_t> announced;  // for this iteration
    };
    struct Daemon {
        std::string name;
        std::string zone;
        NodeId id = 0;
        bool alive = false;
        bool attached = false;
        uint64_t life = 0;
        uint64_t epoch = 0;
        TimePoint up_last;
        TimePoint down_last;
        std::vector<Rank> ranks;
        // Orders are held until the members that have announced arrive.
        std::map<GroupId, GroupOrder> held;
    };
    struct Exchange {
        std::vector<size_t> nodes;
        std::vector<Part> members;
        uint64_t iteration = 0;
        // The number of nodes that have the order.
        size_t told = 0;
    };

    // Time.
    void at(TimePoint when, std::function<void()> run);
    void after(Duration delay, std::function<void()> run) { at(now_ + delay, std::move(run)); }
    Duration uniform(Duration least, Duration most);
    void every(Duration mean, const std::function<void()>& run);
    void schedule_tick();

    // Messages.
    void up(size_t node, Event event);
    void down(NodeId node, std::function<void(size_t)> run);
    void handle(const Event& event);
    void dispatch(const Action& action);
    void send_attached(const controller::Attached& attached);
    void send_order(const To<GroupOrder>& order);
    size_t index_of(NodeId id) const;

    // Daemons.
    void attach(size_t node);
    void on_attached(size_t node, NodeId id);
    void on_view(size_t node, const CommitView& view);
    void detach(size_t node);
    void beat(size_t node, uint64_t life);
    void tell_order(size_t node, const GroupOrder& order);
    void begin(size_t node, const GroupOrder& order);
    bool is_early(size_t node, const GroupOrder& order) const;
    void finish(GroupId group);
    void fail_part(size_t node, GroupId group);

    // Trainers.
    void join(Rank rank);
    void on_accepted(size_t node, const To<JoinAccepted>& accepted);
    void compute(Rank rank);
    void announce_step(Rank rank, uint64_t iteration);
    void arrive(Rank rank);
    void announce(Rank rank);
    void signal(Rank rank, ReadyStage stage);
    void take_back(Rank rank);
    void forget_announcement(Rank rank);
    Rank random_rank() { return static_cast<Rank>(random_.below(trainers_.size())); }

    // Faults.
    void kill_trainer(Rank rank, bool orderly);
    void freeze_trainer(Rank rank);
    void kill_node(size_t node);
    void restart_controller();

    Scenario scenario_;
    base::Random random_;
    Checker checker_;
    std::unique_ptr<Core> core_;
    bool controller_up_ = true;
    uint64_t controller_life_ = 0;
    std::vector<std::vector<std::byte>> journal_;
    TimePoint now_{std::chrono::seconds(1)};
    TimePoint end_;
    uint64_t order_ = 0;
    TimePoint tick_at_ = TimePoint::max();
    std::priority_queue<Task, std::vector<Task>, std::greater<>> tasks_;
    std::vector<Daemon> daemons_;
    std::vector<Trainer> trainers_;
    std::unordered_map<NodeId, size_t> index_of_;
    std::unordered_map<GroupId, Exchange> exchanges_;
    Actions actions_;
};

}  // namespace pace::simulation
