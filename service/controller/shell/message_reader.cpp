#include "service/controller/shell/message_reader.h"

#include <utility>

#include "protocol/nccl.h"
#include "protocol/option_codec.h"
#include "protocol/options/names.h"
#include "protocol/options/printable.h"
#include "protocol/server_codec.h"
#include "protocol/version.h"
#include "protocol/zone.h"

namespace pace::controller {

namespace wire = protocol::control;

using protocol::printable;

namespace {

constexpr size_t kAddressBytesMax = 4096;
constexpr size_t kHostBytesMax = 255;

ReadyStage stage_of(wire::ReadyStage stage) {
    if (stage == wire::ReadyStage::announced) return ReadyStage::announced;
    if (stage == wire::ReadyStage::arrived) return ReadyStage::arrived;
    return ReadyStage::called;
}

std::string reason_of(const flatbuffers::String* text) {
    return printable(protocol::text_of(text, protocol::kReasonBytesMax));
}

std::string run_of(const flatbuffers::String* text) {
    return printable(protocol::text_of(text, protocol::kNameBytesMax));
}

Rerun rerun_of(wire::Rerun wire) {
    return wire > wire::Rerun::MAX ? Rerun::when_all_died : static_cast<Rerun>(wire);
}

base::Result<std::optional<Event>> event_of(const wire::WorkerJoin& table, NodeId node) {
    PACE_TRY_ASSIGN(options, protocol::read_job_options(*table.options()));
    return std::optional<Event>(WorkerJoin{.request = table.request(),
                                           .node = node,
                                           .rank = table.rank(),
                                           .options = std::move(options),
                                           .uid = table.uid(),
                                           .resume = table.resume(),
                                           .iteration = table.iteration(),
                                           .rounds_completed = table.rounds_completed(),
                                           .epoch = table.epoch(),
                                           .run = {run_of(table.run()), table.began()},
                                           .opened = table.opened(),
                                           .rerun = rerun_of(table.rerun())});
}

base::Result<std::optional<Event>> event_of(const wire::JobCreate& table, NodeId node) {
    PACE_TRY_ASSIGN(options, protocol::read_job_options(*table.options()));
    return std::optional<Event>(JobCreate{.request = table.request(),
                                          .node = node,
                                          .options = std::move(options),
                                          .uid = table.uid()});
}

void read_groups(const wire::Heartbeat& table, Heartbeat& ret_heartbeat) {
    if (table.groups() == nullptr) return;
    ret_heartbeat.groups.reserve(table.groups()->size());
    for (const auto* group : *table.groups()) {
        GroupReport report{.job = group->job(),
                           .group = group->group(),
                           .members = {},
                           .iteration = group->iteration(),
                           .waited_ns = {},
                           .moving_ns = group->moving_ns(),
                           .bytes = group->bytes(),
                           .ended_before_ns = group->ended_before_ns(),
                           .left_out = group->left_out()};
        if (group->members() != nullptr)
            report.members.assign(group->members()->begin(), group->members()->end());
        if (group->waited_ns() != nullptr)
            report.waited_ns.assign(group->waited_ns()->begin(), group->waited_ns()->end());
        ret_heartbeat.groups.push_back(std::move(report));
    }
}

Event event_of(const wire::Heartbeat& table, NodeId node) {
    Heartbeat heartbeat{
        .node = node, .workers = {}, .groups = {}, .links = {}, .number = table.number()};
    if (table.workers() != nullptr) {
        heartbeat.workers.reserve(table.workers()->size());
        for (const auto* report : *table.workers())
            heartbeat.workers.push_back({.job = report->job(),
                                         .rank = report->rank(),
                                         .iteration = report->iteration(),
                                         .rounds_submitted = report->rounds_submitted(),
                                         .busy_ms = report->busy_ms(),
                                         .stopped = report->stopped(),
                                         .calls = report->calls(),
                                         .computed_us = report->computed_us()});
    }
    read_groups(table, heartbeat);
    if (table.links() != nullptr) {
        heartbeat.links.reserve(table.links()->size());
        for (const auto* link : *table.links())
            heartbeat.links.push_back({.node = link->node(),
                                       .latency_ns = link->latency_ns(),
                                       .ns_per_byte = link->ns_per_byte()});
    }
    return heartbeat;
}

Event event_of(const wire::Stalled& table, NodeId node) {
    Stalled stalled{.node = node, .job = table.job(), .waiting_for = {}};
    if (table.waiting_for() != nullptr)
        stalled.waiting_for.assign(table.waiting_for()->begin(), table.waiting_for()->end());
    return stalled;
}

}  // namespace

base::Result<Hello> read_hello(const wire::Hello& table) {
    const std::string name =
        printable(protocol::text_of(table.name(), protocol::kNameBytesMax + 1));
    if (table.version() != protocol::kVersion)
        return base::make_error(base::ErrorKind::version,
                                "node {} speaks protocol version {}, this controller speaks "
                                "version {}; install the same Pace on both",
                                name, table.version(), protocol::kVersion);
    if (!protocol::is_name(name))
        return base::make_error(base::ErrorKind::invalid,
                                "the node name \"{}\" is not 1 to {} letters, digits, '.', '_' or "
                                "'-'; set another",
                                name, protocol::kNameBytesMax);
    const std::string zone =
        printable(protocol::text_of(table.zone(), protocol::kZoneBytesMax + 1));
    if (!protocol::is_zone(zone))
        return base::make_error(base::ErrorKind::invalid,
                                "the zone \"{}\" of node {} is not {}; set another", zone, name,
                                protocol::kZoneRule);
    if (table.nccl() > protocol::kNcclMax)
        return base::make_error(base::ErrorKind::invalid,
                                "the NCCL version {} of node {} is none, they end at {}; set nccl "
                                "to off there",
                                table.nccl(), name, protocol::kNcclMax);
    if (table.address()->size() > kAddressBytesMax)
        return base::make_error(base::ErrorKind::invalid,
                                "the data plane's address of node {} has {} bytes, at most {} are "
                                "allowed",
                                name, table.address()->size(), kAddressBytesMax);
    Hello hello{.version = table.version(), .node = {}};
    hello.node.name = name;
    hello.node.generation = table.generation();
    const auto* address = reinterpret_cast<const std::byte*>(table.address()->data());
    hello.node.address.assign(address, address + table.address()->size());
    hello.node.host = printable(protocol::text_of(table.host(), kHostBytesMax));
    hello.node.processors = table.processors();
    hello.node.last_id = table.node();
    hello.node.zone = zone;
    hello.node.nccl = table.nccl();
    hello.node.hosted = table.hosted();
    return hello;
}

base::Result<std::optional<Event>> read_event(const wire::Envelope& envelope, NodeId node) {
    using Read = std::optional<Event>;
    switch (envelope.body_type()) {
        case wire::Body::Ready: {
            const auto& table = *envelope.body_as_Ready();
            return Read(Ready{.node = node,
                              .job = table.job(),
                              .rank = table.rank(),
                              .iteration = table.iteration(),
                              .digest = table.digest(),
                              .stage = stage_of(table.stage())});
        }
        case wire::Body::GroupDone: {
            const auto& table = *envelope.body_as_GroupDone();
            return Read(GroupDone{.node = node,
                                  .job = table.job(),
                                  .group = table.group(),
                                  .failed = table.failed(),
                                  .moving_ns = table.moving_ns(),
                                  .bytes = table.bytes(),
                                  .reason = reason_of(table.reason())});
        }
        case wire::Body::LinkCut: {
            const auto& table = *envelope.body_as_LinkCut();
            return Read(LinkCut{.node = node,
                                .from = table.node(),
                                .cut = table.cut(),
                                .silent_ms = table.silent_ms()});
        }
        case wire::Body::Heartbeat:
            return Read(event_of(*envelope.body_as_Heartbeat(), node));
        case wire::Body::Withdraw: {
            const auto& table = *envelope.body_as_Withdraw();
            return Read(Withdraw{.node = node,
                                 .job = table.job(),
                                 .rank = table.rank(),
                                 .unanswered = table.unanswered()});
        }
        case wire::Body::WorkerJoin:
            return event_of(*envelope.body_as_WorkerJoin(), node);
        case wire::Body::JobCreate:
            return event_of(*envelope.body_as_JobCreate(), node);
        case wire::Body::JobDelete: {
            const auto& table = *envelope.body_as_JobDelete();
            return Read(JobDelete{
                .request = table.request(),
                .node = node,
                .name = std::string(protocol::text_of(table.name(), protocol::kNameBytesMax + 1)),
                .uid = table.uid()});
        }
        case wire::Body::WorkerLeave: {
            const auto& table = *envelope.body_as_WorkerLeave();
            return Read(WorkerLeave{.node = node,
                                    .job = table.job(),
                                    .rank = table.rank(),
                                    .orderly = table.orderly(),
                                    .request = table.request()});
        }
        case wire::Body::JobKept: {
            const auto& table = *envelope.body_as_JobKept();
            return Read(JobKept{.node = node,
                                .job = table.job(),
                                .token = table.token(),
                                .model = table.model(),
                                .debts = table.debts()});
        }
        case wire::Body::WorkerAdmit: {
            const auto& table = *envelope.body_as_WorkerAdmit();
            return Read(WorkerAdmit{.node = node,
                                    .job = table.job(),
                                    .rank = table.rank(),
                                    .wants_model = table.wants_model(),
                                    .accepts_own = table.accepts_own()});
        }
        case wire::Body::ViewPrepared: {
            const auto& table = *envelope.body_as_ViewPrepared();
            PACE_TRY_ASSIGN(server, protocol::read_report<ServerReport>(table.server()));
            ViewPrepared prepared{.node = node,
                                  .job = table.job(),
                                  .epoch = table.epoch(),
                                  .completed = table.completed(),
                                  .round_epoch = table.round_epoch(),
                                  .result_epoch = table.result_epoch(),
                                  .server = std::move(server),
                                  .newer_epoch = table.newer_epoch()};
            if (table.without_model() != nullptr)
                prepared.without_model.assign(table.without_model()->begin(),
                                              table.without_model()->end());
            return Read(std::move(prepared));
        }
        case wire::Body::ServerStored: {
            const auto& table = *envelope.body_as_ServerStored();
            return Read(ServerStored{.node = node,
                                     .job = table.job(),
                                     .generation = table.generation(),
                                     .rank = table.rank(),
                                     .clock = table.clock()});
        }
        case wire::Body::ServerAsked: {
            const auto& table = *envelope.body_as_ServerAsked();
            return Read(ServerAsked{.node = node,
                                    .job = table.job(),
                                    .generation = table.generation(),
                                    .rank = table.rank(),
                                    .clock = table.clock(),
                                    .own = table.own(),
                                    .first = table.first(),
                                    .count = table.count()});
        }
        case wire::Body::ServerAssigned: {
            const auto& table = *envelope.body_as_ServerAssigned();
            return Read(ServerAssigned{.node = node,
                                       .job = table.job(),
                                       .generation = table.generation(),
                                       .round = table.round()});
        }
        case wire::Body::ServerSaved: {
            const auto& table = *envelope.body_as_ServerSaved();
            return Read(ServerSaved{.node = node,
                                    .job = table.job(),
                                    .generation = table.generation(),
                                    .position = table.position(),
                                    .shard = table.shard(),
                                    .failure = reason_of(table.failure())});
        }
        case wire::Body::CheckpointAsked: {
            const auto& table = *envelope.body_as_CheckpointAsked();
            return Read(CheckpointAsked{.node = node,
                                        .job = table.job(),
                                        .generation = table.generation(),
                                        .rank = table.rank(),
                                        .own = table.own()});
        }
        case wire::Body::Stalled:
            return Read(event_of(*envelope.body_as_Stalled(), node));
        case wire::Body::PeerLost: {
            const auto& table = *envelope.body_as_PeerLost();
            return Read(PeerLost{
                .reporter = node, .suspect = table.suspect(), .reason = reason_of(table.reason())});
        }
        case wire::Body::Goodbye: {
            const std::string reason = reason_of(envelope.body_as_Goodbye()->reason());
            return Read(NodeLost{.node = node, .reason = "it said goodbye: " + reason});
        }
        default:
            return Read(std::nullopt);
    }
}

std::optional<RequestId> request_of(const wire::Envelope& envelope) {
    if (const auto* join = envelope.body_as_WorkerJoin()) return join->request();
    if (const auto* create = envelope.body_as_JobCreate()) return create->request();
    if (const auto* deletion = envelope.body_as_JobDelete()) return deletion->request();
    return std::nullopt;
}

}  // namespace pace::controller
