// Core events: how the core handles each event.
#include <set>
#include <utility>

#include "service/controller/core/core_state.h"

namespace pace::controller {
namespace {

base::Error drained_error(const std::string& node) {
    return base::make_error(
        base::ErrorKind::denied,
        "an operator drains node '{}', which takes no workers now; open the job "
        "on another node, or put this one back with `pacectl node undrain {}`",
        node, node);
}

}  // namespace

// ------------------------------------------------------------------------------------------- nodes

void Core::State::lose_node(NodeId node, const std::string& reason, bool excluded,
                            const Turn& turn) {
    if (!cluster.nodes.is_attached(node)) return;
    cluster.nodes.detach(node, reason, excluded, turn);
    const std::string name = cluster.nodes.name_of(node);
    const std::string text = fmt::format("node '{}': {}", name, reason);
    turn.warn(excluded ? "node-excluded" : "node-lost", text, {.node = name});
    cluster.cuts.forget(node);
    for (const auto& [id, job] : jobs.all()) job->on_node_lost(node, reason, turn);
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
    turn.note("node-attached", fmt::format("node '{}' (#{})", event.name, node),
              {.node = event.name});
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
    if (cluster.nodes.is_draining(event.node)) {
        const std::string name = cluster.nodes.name_of(event.node);
        return turn.tell(event.node, JoinRefused{event.request, drained_error(name)});
    }
    Job* job = jobs.join(event, turn);
    if (job != nullptr) settle(*job, turn);
}

void Core::State::on(const From<JobCreate>& event, const Turn& turn) {
    jobs.create(event, turn);
}

void Core::State::on(const From<JobDelete>& event, const Turn& turn) {
    jobs.remove(event, turn);
}

base::Result<> Core::State::set_draining(const std::string& name, bool draining, const Turn& turn) {
    const NodeId node = cluster.nodes.id_of(name);
    if (node == 0)
        return base::make_error(base::ErrorKind::not_found,
                                "there is no node '{}'; `pacectl status` shows all", name);
    if (!cluster.nodes.set_draining(node, draining)) return {};
    turn.act(JournalAppend{encode(DrainRecord{node, draining})});
    turn.note(draining ? "node-drained" : "node-undrained",
              fmt::format("node '{}' {}", name,
                          draining ? "takes no workers any more, and its workers leave their jobs"
                                   : "takes workers again"),
              {.node = name});
    if (draining)
        for (const auto& [id, job] : jobs.all()) job->drain(node, turn);
    settle_all(turn);
    return {};
}

void Core::State::on(const From<NodeDrain>& event, const Turn& turn) {
    const auto done = set_draining(event.name, !event.undo, turn);
    if (done)
        turn.tell(event.node, NodeDrained{event.request});
    else
        turn.tell(event.node, JoinRefused{event.request, done.error()});
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
    bool is_news = false;
    for (const NodeId node : event.waiting_for)
        is_news = cluster.cuts.waits(event.node, node) || is_news;
    if (is_news) settle_all(turn);
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
    const About about{.node = cluster.nodes.name_of(event.node)};
    const std::string nodes =
        fmt::format("node '{}' and node '{}'", about.node, cluster.nodes.name_of(event.peer));
    const bool was_cut = cluster.cuts.is_cut(event.node, event.peer);
    const CutLinks::Outcome outcome =
        cluster.cuts.report(event, cluster.nodes.attached(), turn.now);
    if (event.cut && !was_cut)
        turn.warn("link-silent",
                  fmt::format("{}: no bytes from the second for {} ms", nodes, event.silent_ms),
                  about);
    if (outcome == CutLinks::Outcome::said_anew) settle_all(turn);
    if (outcome == CutLinks::Outcome::other || outcome == CutLinks::Outcome::said_anew) return;
    turn.note("link-whole", fmt::format("{} reach each other again", nodes), about);
    if (outcome == CutLinks::Outcome::whole) {
        cuts_changed({CutLinks::pair_of(event.node, event.peer)}, turn);
    } else {
        jobs.link_lost(event.node, event.peer, turn);
    }
}

void Core::State::cuts_changed(const std::vector<CutLinks::Pair>& pairs, const Turn& turn) {
    for (const auto& [id, job] : jobs.all()) job->on_cuts_changed(pairs);
    settle_all(turn);
}

void Core::State::settle_cuts(const Turn& turn) {
    const std::vector<CutLinks::Pair> pairs = cluster.cuts.settle(turn.now);
    if (!pairs.empty()) cuts_changed(pairs, turn);
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
    cluster.nodes.set_clock(event.node, event.unix_ms, turn.now);
    if (event.machine != MachineReport{}) cluster.nodes.on_machine(event.node, event.machine);
}

void Core::State::learn_links(const From<Heartbeat>& event) {
    if (event.links.empty() || !cluster.nodes.is_attached(event.node)) return;
    const auto is_gone = [this](NodeId node) { return !cluster.nodes.is_attached(node); };
    bool measured = false;
    bool has_made_room = false;  // a second pass would free nothing more
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

}  // namespace pace::controller
