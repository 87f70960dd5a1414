#include "daemon/control/outgoing.h"

#include "protocol/option_codec.h"
#include "protocol/server_codec.h"
#include "protocol/version.h"

namespace pace::daemon::control {

namespace wire = protocol::control;

namespace {

auto text(flatbuffers::FlatBufferBuilder& builder, std::string_view words) {
    const std::string_view cut = words.substr(0, protocol::kReasonBytesMax);
    return builder.CreateString(cut.data(), cut.size());
}

}  // namespace

Outgoing::Bytes Outgoing::write(const Hello& message) {
    auto& builder = envelope_.begin();
    const auto name = builder.CreateString(message.name);
    const auto address = builder.CreateVector(
        reinterpret_cast<const uint8_t*>(message.address.data()), message.address.size());
    const auto host = builder.CreateString(message.host);
    const auto zone = builder.CreateString(message.zone);
    return finish(wire::CreateHello(builder, protocol::kVersion, name, message.generation, address,
                                    host, message.processors, message.node, zone, message.nccl,
                                    message.hosted));
}

Outgoing::Bytes Outgoing::write(const Heartbeat& message) {
    auto& builder = envelope_.begin();
    std::vector<flatbuffers::Offset<wire::WorkerReport>> reports;
    reports.reserve(message.workers.size());
    for (const WorkerReport& report : message.workers)
        reports.push_back(wire::CreateWorkerReport(
            builder, report.job, report.rank, report.iteration, report.rounds_submitted,
            report.busy_ms, report.stopped, report.calls, report.computed_us));
    std::vector<flatbuffers::Offset<wire::GroupReport>> groups;
    groups.reserve(message.groups.size());
    for (const GroupReport& group : message.groups)
        groups.push_back(wire::CreateGroupReport(
            builder, group.job, group.group, builder.CreateVector(group.members), group.iteration,
            builder.CreateVector(group.waited_ns), group.moving_ns, group.bytes,
            group.ended_before_ns, group.left_out));
    std::vector<flatbuffers::Offset<wire::LinkReport>> links;
    links.reserve(message.links.size());
    for (const LinkReport& link : message.links)
        links.push_back(
            wire::CreateLinkReport(builder, link.node, link.latency_ns, link.ns_per_byte));
    const auto workers = builder.CreateVector(reports);
    const auto ended = builder.CreateVector(groups);
    return finish(wire::CreateHeartbeat(builder, workers, ended, builder.CreateVector(links),
                                        message.number));
}

Outgoing::Bytes Outgoing::write(const Goodbye& message) {
    auto& builder = envelope_.begin();
    return finish(wire::CreateGoodbye(builder, text(builder, message.reason)));
}

Outgoing::Bytes Outgoing::write(const PeerLost& message) {
    auto& builder = envelope_.begin();
    return finish(wire::CreatePeerLost(builder, message.suspect, text(builder, message.reason)));
}

Outgoing::Bytes Outgoing::write(const WorkerJoin& message) {
    auto& builder = envelope_.begin();
    const auto options = protocol::write_job_options(builder, message.options);
    return finish(wire::CreateWorkerJoin(builder, message.request, message.rank, options,
                                         message.uid, message.resume, message.iteration,
                                         message.rounds_completed, message.epoch,
                                         builder.CreateString(message.run.id), message.run.began,
                                         message.opened, static_cast<wire::Rerun>(message.rerun)));
}

Outgoing::Bytes Outgoing::write(const JobCreate& message) {
    auto& builder = envelope_.begin();
    const auto options = protocol::write_job_options(builder, message.options);
    return finish(wire::CreateJobCreate(builder, message.request, options, message.uid));
}

Outgoing::Bytes Outgoing::write(const JobDelete& message) {
    auto& builder = envelope_.begin();
    return finish(wire::CreateJobDelete(builder, message.request,
                                        builder.CreateString(message.name), message.uid));
}

Outgoing::Bytes Outgoing::write(const WorkerLeave& message) {
    return finish(wire::CreateWorkerLeave(envelope_.begin(), message.job, message.rank,
                                          message.orderly, message.request));
}

Outgoing::Bytes Outgoing::write(const JobKept& message) {
    return finish(wire::CreateJobKept(envelope_.begin(), message.job, message.token, message.model,
                                      message.debts));
}

Outgoing::Bytes Outgoing::write(const WorkerAdmit& message) {
    return finish(wire::CreateWorkerAdmit(envelope_.begin(), message.job, message.rank,
                                          message.wants_model, message.accepts_own));
}

Outgoing::Bytes Outgoing::write(const Ready& message) {
    return finish(wire::CreateReady(envelope_.begin(), message.job, message.rank, message.iteration,
                                    message.digest, static_cast<wire::ReadyStage>(message.stage)));
}

Outgoing::Bytes Outgoing::write(const Withdraw& message) {
    return finish(
        wire::CreateWithdraw(envelope_.begin(), message.job, message.rank, message.unanswered));
}

Outgoing::Bytes Outgoing::write(const GroupDone& message) {
    auto& builder = envelope_.begin();
    return finish(wire::CreateGroupDone(builder, message.job, message.group, message.failed,
                                        message.moving_ns, message.bytes,
                                        text(builder, message.reason)));
}

Outgoing::Bytes Outgoing::write(const ViewPrepared& message) {
    auto& builder = envelope_.begin();
    flatbuffers::Offset<wire::ServerReport> server;
    if (message.server.generation != 0 || !message.server.saved.empty())
        server = protocol::write_report(builder, message.server);
    const auto without = builder.CreateVector(message.without_model);
    return finish(wire::CreateViewPrepared(builder, message.job, message.epoch, message.completed,
                                           message.round_epoch, message.result_epoch, server,
                                           message.newer_epoch, without));
}

Outgoing::Bytes Outgoing::write(const ServerStored& message) {
    return finish(wire::CreateServerStored(envelope_.begin(), message.job, message.generation,
                                           message.rank, message.clock));
}

Outgoing::Bytes Outgoing::write(const ServerAsked& message) {
    return finish(wire::CreateServerAsked(envelope_.begin(), message.job, message.generation,
                                          message.rank, message.clock, message.own, message.first,
                                          message.count));
}

Outgoing::Bytes Outgoing::write(const ServerAssigned& message) {
    return finish(wire::CreateServerAssigned(envelope_.begin(), message.job, message.generation,
                                             message.round));
}

Outgoing::Bytes Outgoing::write(const ServerSaved& message) {
    auto& builder = envelope_.begin();
    const auto failure = message.failure.empty() ? 0 : builder.CreateString(message.failure);
    return finish(wire::CreateServerSaved(builder, message.job, message.generation,
                                          message.position, message.shard, failure));
}

Outgoing::Bytes Outgoing::write(const CheckpointAsked& message) {
    return finish(wire::CreateCheckpointAsked(envelope_.begin(), message.job, message.generation,
                                              message.rank, message.own));
}

Outgoing::Bytes Outgoing::write(const LinkCut& message) {
    return finish(
        wire::CreateLinkCut(envelope_.begin(), message.node, message.cut, message.silent_ms));
}

Outgoing::Bytes Outgoing::write(const Stalled& message) {
    auto& builder = envelope_.begin();
    return finish(
        wire::CreateStalled(builder, message.job, builder.CreateVector(message.waiting_for)));
}

Outgoing::Bytes Outgoing::write(const StatusRequest& message) {
    return finish(wire::CreateStatusRequest(envelope_.begin(), message.request, message.seen));
}

}  // namespace pace::daemon::control
