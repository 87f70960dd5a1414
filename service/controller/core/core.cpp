#include "service/controller/core/core.h"

#include <algorithm>
#include <set>
#include <utility>

#include "service/controller/core/cluster.h"
#include "service/controller/core/jobs.h"
#include "service/controller/core/status.h"
#include "service/controller/core/status_builder.h"

namespace pace::controller {
namespace {

CoreOptions with_defaults(CoreOptions options) {
    const CoreOptions defaults;
    const auto fill = [](auto& value, const auto& otherwise) {
        if (value == std::decay_t<decltype(value)>{}) value = otherwise;
    };
    fill(options.seed, defaults.seed);
    fill(options.liveness_max, defaults.liveness_max);
    fill(options.liveness_min, defaults.liveness_min);
    fill(options.probe_wait, defaults.probe_wait);
    fill(options.stopped_wait, defaults.stopped_wait);
    fill(options.abandoned_keep, defaults.abandoned_keep);
    fill(options.recent_groups, defaults.recent_groups);
    fill(options.unjoined_keep, defaults.unjoined_keep);
    fill(options.limits.jobs, defaults.limits.jobs);
    fill(options.limits.jobs_of_user, defaults.limits.jobs_of_user);
    fill(options.limits.workers, defaults.limits.workers);
    fill(options.limits.workers_of_user, defaults.limits.workers_of_user);
    return options;
}

// Each life of the controller numbers its groups from a random base, so that no order is taken for
// one of an earlier life, and no number has to be made durable. A life has room for 2^32 groups
// before two bases could meet by more than chance.
GroupId first_group(uint64_t token) {
    return ((token >> 33U) << 32U) + 1;
}

}  // namespace

// Reads events, and hands each to whom it concerns.
struct Core::State {
    State(CoreOptions options, uint64_t (*make_token)())
        : cluster(with_defaults(options)), jobs(cluster, make_token) {
        cluster.next_group = first_group(make_token());
        cluster.life = static_cast<uint32_t>(make_token() >> 32U);
    }

    void lose_node(NodeId node, const std::string& reason, bool excluded, const Turn& turn);
    void settle(Job& job, const Turn& turn);
    void settle_all(const Turn& turn);
    void cuts_changed(const Turn& turn);
    void settle_cuts(const Turn& turn);
    void learn_links(const From<Heartbeat>& event);
    void forget_nodes(const Turn& turn);

    // Calls `apply` with the job if it exists, and draws the consequences.
    template <typename Apply>
    void with_job(JobId id, const Turn& turn, Apply apply) {
        Job* job = jobs.find(id);
        if (job == nullptr) return;
        apply(*job);
        settle(*job, turn);
    }

    void on(const Hello& event, const Turn& turn);
    void on(const NodeHeard& event, const Turn& turn);
    void on(const NodeLost& event, const Turn& turn);
    void on(const From<PeerLost>& event, const Turn& turn);
    void on(const From<WorkerJoin>& event, const Turn& turn);
    void on(const From<JobCreate>& event, const Turn& turn);
    void on(const From<JobDelete>& event, const Turn& turn);
    void on(const From<WorkerLeave>& event, const Turn& turn);
    void on(const From<JobKept>& event, const Turn& turn);
    void on(const From<WorkerAdmit>& event, const Turn& turn);
    void on(const From<Ready>& event, const Turn& turn);
    void on(const From<Withdraw>& event, const Turn& turn);
    void on(const From<GroupDone>& event, const Turn& turn);
    void on(const From<ViewPrepared>& event, const Turn& turn);
    void on(const From<Stalled>& event, const Turn& turn);
    void on(const From<LinkCut>& event, const Turn& turn);
    void on(const From<Heartbeat>& event, const Turn& turn);
    void on(const From<ServerStored>& event, const Turn& turn);
    void on(const From<ServerAsked>& event, const Turn& turn);
    void on(const From<ServerAssigned>& event, const Turn& turn);
    void on(const From<CheckpointAsked>& event, const Turn& turn);
    void on(const From<ServerSaved>& event, const Turn& turn);
    void on(const Tick& event, const Turn& turn);

    Cluster cluster;
    Jobs jobs;
};

// ------------------------------------------------------------------------------------------- nodes

void Core::State::lose_node(NodeId node, const std::string& reason, bool excluded,
                            const Turn& turn) {
    if (!cluster.nodes.is_attached(node)) return;
    cluster.nodes.detach(node, reason, excluded, turn);
    turn.warn(excluded ? "node-excluded" : "node-lost",
              fmt::format("node '{}': {}", cluster.nodes.name_of(node), reason));
    const bool was_cut = cluster.cuts.forget(node);
    for (const auto& [id, job] : jobs.all()) {
        job->on_node_lost(node, reason, turn);
        if (was_cut) job->on_cuts_changed();
    }
    settle_all(turn);
}

void Core::State::settle(Job& job, const Turn& turn) {
    job.settle(turn);
    jobs.sweep(job, turn);
}

void Core::State::settle_all(const Turn& turn) {
    for (auto it = jobs.all().begin(); it != jobs.all().end();) {
        Job& job = *it->second;
        ++it;  // before the job may be dropped
        settle(job, turn);
    }
}

void Core::State::on(const Hello& event, const Turn& turn) {
    lose_node(cluster.nodes.id_of(event.name), "it attached again", false, turn);
    const NodeId node = cluster.nodes.attach(event, turn);
    if (cluster.nodes.remembers_too_many()) forget_nodes(turn);
    turn.note("node-attached", fmt::format("node '{}' (#{})", event.name, node));
}

void Core::State::forget_nodes(const Turn& turn) {
    std::set<NodeId> needed;
    for (const auto& [id, job] : jobs.all()) job->add_nodes(needed);
    for (const NodeId node : cluster.nodes.forget_all_but(needed)) {
        cluster.links.forget(node);
        for (const auto& [id, job] : jobs.all()) job->on_node_forgotten(node);
        turn.act(NodeForgotten{node});
    }
}

void Core::State::on(const NodeHeard& event, const Turn& turn) {
    cluster.nodes.on_heard(event.node, turn.now);
}

void Core::State::on(const NodeLost& event, const Turn& turn) {
    lose_node(event.node, event.reason, false, turn);
}

void Core::State::on(const From<PeerLost>& event, const Turn& turn) {
    const auto culprit = cluster.nodes.on_peer_lost(event, turn);
    if (!culprit) {
        jobs.link_lost(event.node, event.suspect, turn);
        return;
    }
    lose_node(*culprit, fmt::format("lost by its peers: {}", event.reason), true, turn);
}

// ----------------------------------------------------------------------------------------- workers

void Core::State::on(const From<WorkerJoin>& event, const Turn& turn) {
    if (!cluster.nodes.is_attached(event.node)) return;
    Job* job = jobs.join(event, turn);
    if (job != nullptr) settle(*job, turn);
}

void Core::State::on(const From<JobCreate>& event, const Turn& turn) {
    jobs.create(event, turn);
}

void Core::State::on(const From<JobDelete>& event, const Turn& turn) {
    jobs.remove(event, turn);
}

void Core::State::on(const From<WorkerLeave>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.leave(event, turn); });
    if (event.request != 0) turn.tell(event.node, WorkerLeft{event.request});
}

void Core::State::on(const From<JobKept>& event, const Turn& turn) {
    jobs.keep(event, turn);
    with_job(event.job, turn, [](Job&) {});
}

void Core::State::on(const From<WorkerAdmit>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.admit(event, turn); });
}

void Core::State::on(const From<Ready>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_ready(event, turn); });
}

void Core::State::on(const From<Withdraw>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_withdraw(event, turn); });
}

void Core::State::on(const From<GroupDone>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_group_done(event, turn); });
}

void Core::State::on(const From<ServerStored>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_stored(event, turn); });
}

void Core::State::on(const From<ServerAsked>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_asked(event, turn); });
}

void Core::State::on(const From<ServerAssigned>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_assigned(event); });
}

void Core::State::on(const From<CheckpointAsked>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_checkpoint_asked(event); });
}

void Core::State::on(const From<ServerSaved>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_saved(event, turn); });
}

void Core::State::on(const From<ViewPrepared>& event, const Turn& turn) {
    with_job(event.job, turn, [&](Job& job) { job.on_view_prepared(event); });
}

void Core::State::on(const From<Stalled>& event, const Turn& turn) {
    if (event.waiting_for.empty())
        with_job(event.job, turn, [&](Job& job) { job.on_broken(event.node); });
    for (const NodeId node : event.waiting_for) {
        if (cluster.nodes.is_silent(node, turn.now)) {
            lose_node(node, "peers wait for it, and it is silent", true, turn);
        } else {
            with_job(event.job, turn, [&](Job& job) { job.on_stalled(node, turn); });
        }
    }
}

void Core::State::on(const From<LinkCut>& event, const Turn& turn) {
    if (!cluster.nodes.is_attached(event.node) || !cluster.nodes.is_attached(event.peer)) return;
    const std::string nodes =
        fmt::format("node '{}' and node '{}'", cluster.nodes.name_of(event.node),
                    cluster.nodes.name_of(event.peer));
    const bool was_cut = cluster.cuts.is_cut(event.node, event.peer);
    const CutLinks::Outcome outcome =
        cluster.cuts.report(event, cluster.nodes.attached(), turn.now);
    if (event.cut && !was_cut)
        turn.warn("link-silent",
                  fmt::format("{}: no bytes from the second for {} ms", nodes, event.silent_ms));
    if (outcome == CutLinks::Outcome::other) return;
    turn.note("link-whole", fmt::format("{} reach each other again", nodes));
    if (outcome == CutLinks::Outcome::whole) {
        cuts_changed(turn);
    } else {
        jobs.link_lost(event.node, event.peer, turn);
    }
}

void Core::State::cuts_changed(const Turn& turn) {
    for (const auto& [id, job] : jobs.all()) job->on_cuts_changed();
    settle_all(turn);
}

void Core::State::settle_cuts(const Turn& turn) {
    if (cluster.cuts.settle(turn.now)) cuts_changed(turn);
}

void Core::State::on(const From<Heartbeat>& event, const Turn& turn) {
    for (const WorkerReport& report : event.workers) {
        with_job(report.job, turn, [&](Job& job) { job.on_report(event.node, report, turn); });
    }
    for (const GroupReport& report : event.groups) {
        with_job(report.job, turn,
                 [&](Job& job) { job.on_group_report(event.node, report, turn.now); });
    }
    learn_links(event);
}

void Core::State::learn_links(const From<Heartbeat>& event) {
    if (event.links.empty() || !cluster.nodes.is_attached(event.node)) return;
    const auto is_gone = [this](NodeId node) { return !cluster.nodes.is_attached(node); };
    bool measured = false;
    bool has_made_room = false;  // a second look would find no more
    for (const LinkReport& link : event.links) {
        if (!has_made_room && cluster.links.is_full(event.node)) {
            cluster.links.forget_if(event.node, is_gone);
            has_made_room = true;
        }
        if (cluster.nodes.find(link.node) != nullptr && cluster.links.add(event.node, link))
            measured = true;
    }
    if (!measured) return;
    for (const auto& [id, job] : jobs.all()) job->on_links(event.node);
}

void Core::State::on(const Tick& /*event*/, const Turn& turn) {
    while (const auto late = cluster.nodes.overdue(turn.now))
        lose_node(late->node, late->reason, true, turn);
    std::vector<NodeId> deaf;
    for (const auto& [id, job] : jobs.all()) {
        if (const NodeId node = job->deaf_node(turn.now)) deaf.push_back(node);
    }
    for (const NodeId node : deaf)
        lose_node(node, "it did not answer a change of view", true, turn);
    settle_cuts(turn);
    settle_all(turn);
}

// -------------------------------------------------------------------------------------------- Core

Core::Core(CoreOptions options, uint64_t (*make_token)())
    : options_(options),
      make_token_(make_token),
      state_(std::make_unique<State>(options, make_token)) {}

Core::~Core() = default;

void Core::handle(const Event& event, TimePoint now, Actions& actions) {
    const Turn turn{now, actions};
    std::visit([&](const auto& e) { state_->on(e, turn); }, event);
}

std::optional<TimePoint> Core::next_deadline() const {
    std::optional<TimePoint> earliest = state_->cluster.nodes.next_deadline();
    if (const auto cuts = state_->cluster.cuts.next_deadline())
        earliest = std::min(earliest.value_or(*cuts), *cuts);
    for (const auto& [id, job] : state_->jobs.all()) {
        const auto deadline = job->next_deadline();
        if (deadline) earliest = std::min(earliest.value_or(*deadline), *deadline);
    }
    return earliest;
}

base::Result<> Core::replay(std::span<const std::byte> record) {
    PACE_TRY_ASSIGN(decoded, decode(record));
    if (const auto* node = std::get_if<NodeRecord>(&decoded)) {
        if (node->node == 0 || node->node == ~NodeId{0}) {
            return base::make_error(base::ErrorKind::corrupt, "the journal has a node with id {}",
                                    node->node);
        }
        state_->cluster.nodes.restore(node->node, node->name);
        return {};
    }
    return state_->jobs.replay(decoded);
}

void Core::replay_finished(TimePoint now) {
    state_->jobs.begin_life(now);
    for (const auto& [id, job] : state_->jobs.all()) job->replay_finished(now);
}

std::vector<std::vector<std::byte>> Core::journal_snapshot() const {
    std::vector<JournalRecord> records;
    for (const auto& [id, node] : state_->cluster.nodes.nodes())
        records.emplace_back(NodeRecord{id, node.name});
    for (const auto& [id, job] : state_->jobs.all()) job->append_records(records);
    std::vector<std::vector<std::byte>> encoded;
    encoded.reserve(records.size());
    for (const JournalRecord& record : records) encoded.push_back(encode(record));
    return encoded;
}

void Core::begin_anew(TimePoint now) {
    const auto records = journal_snapshot();
    const Counters counters = state_->cluster.counters;
    const EndedJobs ended = state_->jobs.ended();
    state_ = std::make_unique<State>(options_, make_token_);
    state_->cluster.counters = counters;
    state_->jobs.remember(ended);
    // What this life has written it also reads.
    for (const auto& record : records) (void)replay(record);
    replay_finished(now);
}

StatusView Core::status(TimePoint now) const {
    StatusView view;
    for (const auto& [id, node] : state_->cluster.nodes.nodes())
        view.nodes.push_back(view_of(node, now));
    for (const auto& [id, job] : state_->jobs.all()) {
        view.jobs.push_back(view_of(*job, now));
        view.jobs.back().zones = zones_of(*job, state_->cluster.nodes);
    }
    view.links = links_of(state_->cluster.links);
    view.cuts = cuts_of(state_->cluster.cuts, now);
    view.counters = state_->cluster.counters;
    return view;
}

bool Core::has_job(const std::string& name) const {
    return state_->jobs.has(name);
}

size_t Core::jobs() const {
    return state_->jobs.all().size();
}

const Core::Counters& Core::counters() const {
    return state_->cluster.counters;
}

}  // namespace pace::controller
