// What the daemon and the controller say to each other, as the daemon sees it.
//
// One struct per table of protocol/control.fbs that is not the link's own business (hello, probe,
// attachment). The daemon may not include the controller's types; the meaning is theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/control/ids.h"
#include "daemon/control/kept_messages.h"
#include "daemon/control/server_messages.h"
#include "protocol/options/asked_options.h"

namespace pace::daemon::control {

// As all of Pace declares them.
using protocol::AskedOptions;
using protocol::Compression;
using protocol::DenseFallback;
using protocol::DivideBy;
using protocol::Family;
using protocol::Hierarchy;
using protocol::Indices;
using protocol::JobOptions;
using protocol::Late;
using protocol::Missing;
using protocol::Policy;
using protocol::Quorum;
using protocol::Rate;
using protocol::Residuals;
using protocol::TeamGather;
using protocol::Values;
using protocol::Weights;

// ---- daemon to controller

struct Goodbye {
    std::string reason;
};

struct WorkerReport {
    JobId job = 0;
    Rank rank = 0;
    uint64_t iteration = 0;
    uint64_t rounds_submitted = 0;
    uint64_t busy_ms = 0;
    bool stopped = false;
    uint64_t calls = 0;        // exchanges that this worker has called so far
    uint64_t computed_us = 0;  // how long it has had no request in flight before them, in all
};

// A group that has ended and that the controller did not order; members by rank. See control.fbs.
struct GroupReport {
    JobId job = 0;
    GroupId group = 0;
    std::vector<Rank> members;
    uint64_t iteration = 0;
    std::vector<uint64_t> waited_ns;
    uint64_t moving_ns = 0;
    uint64_t bytes = 0;
    uint64_t ended_before_ns = 0;
    uint64_t left_out = 0;
};

struct LinkReport {
    NodeId node = 0;
    uint64_t latency_ns = 0;
    double ns_per_byte = 0;
};

struct Heartbeat {
    std::vector<WorkerReport> workers;
    std::vector<GroupReport> groups{};
    std::vector<LinkReport> links{};
    uint64_t number = 0;
};

struct PeerLost {
    NodeId suspect = 0;
    std::string reason;
};

// One execution of a job, from its first worker's start until all its workers are gone.
struct Run {
    std::string id;      // as the workers give it, or their launcher; empty: none
    uint64_t began = 0;  // nanoseconds since 1970
    bool operator==(const Run&) const = default;
};

// When a worker that opens anew begins another run under the same name and identity.
enum class Rerun : uint8_t { when_all_died = 0, when_none_lives = 1, never = 2 };

// A worker wants in. `resume`: it was a member already and is announced again.
struct WorkerJoin {
    RequestId request = 0;
    Rank rank = 0;
    AskedOptions options;
    uint32_t uid = 0;
    bool resume = false;
    uint64_t iteration = 0;
    uint64_t rounds_completed = 0;
    uint64_t epoch = 0;
    Run run{};  // that the worker is of; without `began` unless it was in it already
    uint64_t opened = 0;
    Rerun rerun = Rerun::when_all_died;
};

// Answered by JoinAccepted with rank kNoRank, or JoinRefused.
struct JobCreate {
    RequestId request = 0;
    AskedOptions options;
    uint32_t uid = 0;
};

// Answered by JobDeleted, or JoinRefused.
struct JobDelete {
    RequestId request = 0;
    std::string name;
    uint32_t uid = 0;
};

struct WorkerLeave {
    JobId job = 0;
    Rank rank = 0;
    bool orderly = false;
    uint64_t request = 0;  // to be answered by WorkerLeft, if not 0
};

struct WorkerAdmit {
    JobId job = 0;
    Rank rank = 0;
    bool wants_model = false;
    bool accepts_own = false;  // it was told that nobody can give it one
};

enum class ReadyStage : uint8_t { called = 0, announced = 1, arrived = 2 };

struct Ready {
    JobId job = 0;
    Rank rank = 0;
    uint64_t iteration = 0;
    uint32_t digest = 0;
    ReadyStage stage = ReadyStage::called;
};

struct Withdraw {
    JobId job = 0;
    Rank rank = 0;
    bool unanswered = false;
};

struct GroupDone {
    JobId job = 0;
    GroupId group = 0;
    bool failed = false;
    uint64_t moving_ns = 0;
    uint64_t bytes = 0;
    std::string reason{};  // if it failed
};

struct ViewPrepared {
    JobId job = 0;
    uint64_t epoch = 0;
    uint64_t completed = 0;     // rounds
    uint64_t round_epoch = 0;   // the view over which the node's last round began
    uint64_t result_epoch = 0;  // that of its last completed round; 0: it has not that one's result
    ServerReport server{};      // of a server job
    uint64_t newer_epoch = 0;   // not 0: refused, for a view that is not older
    std::vector<Rank> without_model{};  // workers here that can give a newcomer none
};

// The way to another node: cut, since nothing has come from it for so long, or whole again.
struct LinkCut {
    NodeId node = 0;
    bool cut = false;
    uint64_t silent_ms = 0;
};

struct Stalled {
    JobId job = 0;
    std::vector<NodeId> waiting_for;
};

struct StatusRequest {
    RequestId request = 0;
    uint64_t seen = 0;  // the number of the last reply that has come
};

// ---- controller to daemon

struct JoinAccepted {
    RequestId request = 0;
    JobId job = 0;
    Rank rank = 0;       // kNoRank in answer to JobCreate
    JobOptions options;  // as the job has them, defaults filled in
    // This daemon does not know all of them, and would train another way than was asked, unseen.
    std::optional<base::Error> unreadable{};
    uint64_t token = 0;
    bool under_way = false;
    Run run{};
};

struct JoinRefused {
    RequestId request = 0;
    base::Error error;
};

struct PrepareView {
    JobId job = 0;
    uint64_t epoch = 0;
    uint64_t token = 0;  // the job's, as in JoinAccepted
    uint64_t began = 0;  // its run's
};

struct Member {
    Rank rank = 0;
    NodeId node = 0;
    uint32_t zone = 0;
    uint32_t nccl = 0;
    bool operator==(const Member&) const = default;
};

struct Adoption {
    Rank newcomer = 0;
    Rank donor = 0;  // kNoRank: the newcomer waits for the model in a round, as all do
    bool operator==(const Adoption&) const = default;
};

struct CommitView {
    JobId job = 0;
    uint64_t epoch = 0;
    uint64_t base_round = 0;
    NodeId donor = 0;
    std::vector<NodeId> behind;   // nodes that fetch the result of round base_round - 1
    std::vector<NodeId> leavers;  // are told, but not in it
    std::vector<Member> members;
    std::vector<Adoption> adoptions;
    // Of a server job.
    std::vector<NodeId> shards{};
    uint64_t generation = 0;
    ServerLedger ledger{};
    std::vector<ServerEntry> missed{};
    bool model_lost = false;
    uint64_t saved_generation = 0;  // not 0: of the checkpoint that the model is again
    bool model_begins = false;      // the generation does: whoever is to keep a shard makes it now
};

struct Part {
    Rank rank = 0;
    NodeId node = 0;
    uint64_t iteration = 0;
    double weight = 0;
    uint32_t zone = 0;
    uint32_t nccl = 0;
    bool operator==(const Part&) const = default;
};

struct GroupOrder {
    JobId job = 0;
    GroupId group = 0;
    uint64_t epoch = 0;
    std::vector<Part> members;
    double initial_weight = 0;
    uint64_t iteration = 0;
    uint32_t digest = 0;
};

struct GroupAbort {
    JobId job = 0;
    GroupId group = 0;
    std::string reason;
};

struct WorkerSuspended {
    JobId job = 0;
    Rank rank = 0;
    std::string reason;
};

// Nobody can give the worker the model that it asked for; it is in no view.
struct NoModel {
    JobId job = 0;
    Rank rank = 0;
};

struct JobDeleted {
    RequestId request = 0;
};

struct WorkerLeft {
    uint64_t request = 0;
};

// In answer to Withdraw: the signal was still waiting and is gone.
struct Withdrawn {
    JobId job = 0;
    Rank rank = 0;
};

struct NodeGone {
    NodeId node = 0;
    std::string reason;
};

struct NodeKnown {
    NodeId node = 0;
    std::string name;
    std::vector<std::byte> address;
};

struct StatusReply {
    RequestId request = 0;
    std::string json;
    uint64_t number = 0;  // of this reply, for the next request
};

}  // namespace pace::daemon::control
