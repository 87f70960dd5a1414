// StatusView: the whole state for people, as plain structs. Core::status builds it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/controller/core/groups/group_history.h"
#include "service/controller/core/members/slowness.h"
#include "service/controller/core/members/worker.h"
#include "service/controller/core/nodes/link_table.h"
#include "service/controller/core/serving/checkpoints.h"
#include "service/controller/core/serving/server.h"
#include "service/controller/vocabulary/core_options.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

enum class NodeStatus : uint8_t { alive, suspected, gone };
enum class WorkerStatus : uint8_t {
    joined,  // waits for others to join
    active,
    newcomer,   // joined a job under way, not admitted yet
    late,       // the others continue without it
    suspended,  // taken out because a round waited on it
    missing,    // not announced again since the controller's restart
    left,
    lost,
};

std::string_view name_of(NodeStatus status);
std::string_view name_of(WorkerStatus status);

struct NodeView {
    NodeId node = 0;
    std::string name;
    std::string host;
    uint32_t processors = 0;
    uint32_t workers = 0;
    NodeStatus status = NodeStatus::alive;
    Duration silent{};    // since it was last heard
    Duration patience{};  // silence after which it is excluded
    std::string zone{};   // the operator's name; empty: none
    uint32_t nccl = 0;    // version it can use; 0: none
    bool draining = false;
    std::string release{};    // of its daemon; empty: one that does not say
    uint64_t unix_ms = 0;     // its own clock now, since 1970; 0: it does not say
    MachineReport machine{};  // empty: not told, or the node is gone
};

// The present activity of a worker.
enum class Doing : uint8_t { nothing, computing, waiting, exchanging, stopped, unreachable };

std::string_view name_of(Doing doing);

enum class JobStage : uint8_t { joining, running, finished };

std::string_view name_of(JobStage stage);

struct TimeSpent {
    double total_s = 0;
    Duration median{};  // of the recent times
};

// The steps of a worker's training, as its trainer has told.
struct StepsView {
    uint64_t done = 0;
    uint64_t total = 0;
    std::optional<double> left_s;  // none: not known yet
};

struct WorkerView {
    Rank rank = 0;
    NodeId node = 0;
    WorkerStatus status = WorkerStatus::joined;
    uint64_t iteration = 0;
    uint64_t rounds_submitted = 0;
    Duration step_last{};  // zero: not known
    Duration step_median{};
    std::optional<Duration> waiting;  // time since its ready signal
    bool exchanging = false;
    TimeSpent computed;  // since it joined, in whole steps
    TimeSpent waited;    // since it joined, in calls that have ended
    TimeSpent exchanged;
    Doing doing = Doing::nothing;  // nothing: it has left, or its daemon does not report
    Duration doing_for{};
    std::optional<Slowness> slow;
    std::optional<double> loss;  // as its trainer told last
    double samples_per_s = 0;    // the same; 0: not told
    std::optional<StepsView> steps;
    std::optional<KeptResidual> residual;  // none: not told
};

// The slowest and the fastest member: by iteration if models are averaged, otherwise by the number
// of rounds submitted.
struct ProgressSpread {
    Rank last = 0;
    Rank first = 0;
    uint64_t least = 0;
    uint64_t most = 0;
};

// The worker with the longest median step, if it stands out.
struct SlowWorker {
    Rank rank = 0;
    double factor = 1;  // relative to the median worker's step
};

// Workers that wait, and the workers for which they wait: those that have not called, or are too
// far behind.
struct WaitView {
    std::string what;
    std::vector<Rank> waiting;
    std::vector<Rank> missing;
    std::optional<Duration> waited;  // the longest; none if unknown
};

// Nodes of a job that are near each other.
struct ZoneView {
    uint32_t zone = 0;
    std::string label;  // empty: found by measured links
    std::vector<NodeId> nodes;
};

struct LinkView {
    NodeId from = 0;
    NodeId to = 0;
    Link link;
};

// Two nodes that cannot reach each other, though the controller hears both.
struct CutView {
    NodeId low = 0;
    NodeId high = 0;
    Duration since{};
};

// What policy auto has chosen.
struct AutoView {
    Policy policy = Policy::partial_reduce;
    uint32_t group_size = 0;  // 0: all workers
    std::string reason;
    uint64_t switches = 0;
};

// A server job's model.
struct ModelView {
    uint64_t position = 0;    // of the order
    uint64_t generation = 0;  // 0: unknown so far
    bool waits = false;       // a node with a part of the model is absent
    uint64_t slowest = 0;     // clocks
    uint64_t fastest = 0;
    uint64_t pushes = 0;
    uint64_t live_versions = 0;
    ServerStatistics statistics;
    std::vector<NodeId> places;                   // by shard
    std::optional<Checkpoints::Last> checkpoint;  // last complete one since the controller began
    std::string checkpoint_failure;               // of a later one; empty: none
};

struct JobView {
    JobId job = 0;
    JobOptions options;
    uint32_t uid = 0;
    Run run{};
    uint64_t epoch = 0;
    uint64_t base_round = 0;
    bool started = false;
    JobStage stage = JobStage::joining;
    Duration finished_for{};               // if it is that
    std::optional<StepsView> steps;        // of the worker that will be done last
    std::optional<KeptResidual> residual;  // of all workers: bytes of all, exchanges of the oldest
    bool changing_view = false;
    bool gathering = false;           // waits for its members after the controller's restart
    std::vector<WorkerView> workers;  // those that have joined once, in rank order
    std::vector<WaitView> waits;      // that last a while
    std::optional<SlowWorker> slow;
    std::optional<ProgressSpread> progress;  // none without members
    Duration step_median{};                  // of the median worker
    std::vector<NodeId> left_out;            // cut from nodes that the job continues with
    std::vector<ZoneView> zones;             // of the view's nodes, except nodes of unknown zone

    // Averaging jobs only. Fields that do not apply to groups formed elsewhere (ReportedGroups) are
    // 0.
    std::optional<AutoView> automatic;  // of policy auto
    Duration group_wait{};
    uint32_t sync_components = 0;  // of the sync-graph, without frozen workers; 1 is good
    bool holding = false;          // a group is held for a bridge
    uint64_t groups_in_flight = 0;
    uint64_t groups_ordered = 0;
    uint64_t groups_completed = 0;
    uint64_t groups_failed = 0;
    uint64_t conflicts = 0;  // groups that had to wait for another group
    TimeSpent waited;        // see GroupStatistics
    TimeSpent exchanged;
    uint64_t bridged_groups = 0;
    std::vector<GroupRecord> recent_groups;  // oldest first
    double spectral_gap = 0;                 // of the last T groups, over the members
    GroupHistory::Staleness staleness{};     // GroupHistory defines the buckets

    std::optional<ModelView> model;  // of server jobs
};

struct StatusView {
    std::vector<NodeView> nodes;
    std::vector<JobView> jobs;
    std::vector<LinkView> links;  // as measured
    std::vector<CutView> cuts;
    CoreCounters counters;
};

}  // namespace pace::controller
