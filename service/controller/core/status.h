// StatusView: the whole state for people, as plain structs. Core::status builds it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/controller/core/checkpoints.h"
#include "service/controller/core/core.h"
#include "service/controller/core/group_history.h"
#include "service/controller/core/link_table.h"
#include "service/controller/core/server.h"
#include "service/controller/core/slowness.h"
#include "service/controller/core/types.h"

namespace pace::controller {

enum class NodeStatus : uint8_t { alive, suspected, gone };
enum class WorkerStatus : uint8_t {
    joined,  // waits for the others to join
    active,
    newcomer,   // joined a job under way, not admitted yet
    late,       // the others carry on around it
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
    std::string zone{};   // in words of the operator; empty: none
    uint32_t nccl = 0;    // that it could use; 0: none
    bool draining = false;
    std::string release{};  // of its daemon; empty: one that does not say
};

// What a worker does now.
enum class Doing : uint8_t { nothing, computing, waiting, exchanging, stopped, unreachable };

std::string_view name_of(Doing doing);

enum class JobStage : uint8_t { joining, running, finished };

std::string_view name_of(JobStage stage);

struct TimeSpent {
    double total_s = 0;
    Duration median{};  // of the recent times
};

struct WorkerView {
    Rank rank = 0;
    NodeId node = 0;
    WorkerStatus status = WorkerStatus::joined;
    uint64_t iteration = 0;
    uint64_t rounds_submitted = 0;
    Duration step_last{};  // zero: not known
    Duration step_median{};
    std::optional<Duration> waiting;  // its ready signal, for so long
    bool exchanging = false;
    TimeSpent computed;  // since it joined, in whole steps
    TimeSpent waited;    // since it joined, in calls that have ended
    TimeSpent exchanged;
    Doing doing = Doing::nothing;  // nothing: it has left, or its daemon does not say
    Duration doing_for{};
    std::optional<Slowness> slow;
    std::optional<double> loss;  // as its trainer told last
    double samples_per_s = 0;    // the same; 0: not told
};

// Who of the members is behind and who ahead. The iteration where models are averaged, else how many
// rounds it has submitted.
struct ProgressSpread {
    Rank last = 0;
    Rank first = 0;
    uint64_t least = 0;
    uint64_t most = 0;
};

// The worker with the longest median step, when it stands out.
struct SlowWorker {
    Rank rank = 0;
    double factor = 1;  // of the median worker's step
};

// Workers that wait, and those that have not called, or are too far behind, for whom they do.
struct WaitView {
    std::string what;
    std::vector<Rank> waiting;
    std::vector<Rank> missing;
    std::optional<Duration> waited;  // the longest; none where it is not known
};

// Nodes of a job that are near each other.
struct ZoneView {
    uint32_t zone = 0;
    std::string label;  // empty: it was found by measured links
    std::vector<NodeId> nodes;
};

struct LinkView {
    NodeId from = 0;
    NodeId to = 0;
    Link link;
};

// Two nodes between which nothing passes, though the controller hears both.
struct CutView {
    NodeId low = 0;
    NodeId high = 0;
    Duration since{};
};

// What policy auto has chosen.
struct AutoView {
    Policy policy = Policy::partial_reduce;
    uint32_t group_size = 0;  // 0: everyone
    std::string reason;
    uint64_t switches = 0;
};

// A server job's model.
struct ModelView {
    uint64_t position = 0;    // of the order
    uint64_t generation = 0;  // 0: not known yet
    bool waits = false;       // a node with a part of it is not there
    uint64_t slowest = 0;     // clocks
    uint64_t fastest = 0;
    uint64_t pushes = 0;
    uint64_t live_versions = 0;
    ServerStatistics statistics;
    std::vector<NodeId> places;                   // by shard
    std::optional<Checkpoints::Last> checkpoint;  // the last whole one since the controller began
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
    Duration finished_for{};  // if it is that
    bool changing_view = false;
    bool gathering = false;           // waits for its members after the controller's restart
    std::vector<WorkerView> workers;  // those that have joined once, in rank order
    std::vector<WaitView> waits;      // that last
    std::optional<SlowWorker> slow;
    std::optional<ProgressSpread> progress;  // none without members
    Duration step_median{};                  // of the median worker
    std::vector<NodeId> left_out;            // cut from nodes with which the job goes on
    std::vector<ZoneView> zones;  // of the view's nodes; without those of which none is known

    // Averaging jobs only; what has no place where groups are not formed here (ReportedGroups) is 0.
    std::optional<AutoView> automatic;  // of policy auto
    Duration group_wait{};
    uint32_t sync_components = 0;  // of the sync-graph, without the frozen; 1 is good
    bool holding = false;          // a group is held for a bridge
    uint64_t groups_in_flight = 0;
    uint64_t groups_ordered = 0;
    uint64_t groups_completed = 0;
    uint64_t groups_failed = 0;
    uint64_t conflicts = 0;  // groups that had to wait for another one
    TimeSpent waited;        // see GroupStatistics
    TimeSpent exchanged;
    uint64_t bridged_groups = 0;
    std::vector<GroupRecord> recent_groups;  // oldest first
    double spectral_gap = 0;                 // of the last T groups, over the members
    GroupHistory::Staleness staleness{};     // see GroupHistory for the buckets

    std::optional<ModelView> model;  // of server jobs
};

struct StatusView {
    std::vector<NodeView> nodes;
    std::vector<JobView> jobs;
    std::vector<LinkView> links;  // as measured
    std::vector<CutView> cuts;
    Core::Counters counters;
};

}  // namespace pace::controller
