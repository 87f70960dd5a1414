#include "daemon/control/incoming.h"

#include <utility>

#include "protocol/option_codec.h"
#include "protocol/server_codec.h"

namespace pace::daemon::control {

namespace wire = protocol::control;

namespace {

std::string reason_of(const flatbuffers::String* text) {
    return std::string(protocol::text_of(text, protocol::kReasonBytesMax));
}

}  // namespace

base::Error read_error(int32_t kind, const flatbuffers::String* message) {
    const bool known = kind >= static_cast<int32_t>(base::ErrorKind::invalid) &&
                       kind <= static_cast<int32_t>(base::ErrorKind::internal);
    return {known ? static_cast<base::ErrorKind>(kind) : base::ErrorKind::internal,
            reason_of(message)};
}

base::Result<JoinAccepted> read(const wire::JoinAccepted& table) {
    PACE_TRY_ASSIGN(told, protocol::read_job_options(*table.options()));
    JoinAccepted accepted{
        .request = table.request(),
        .job = table.job(),
        .rank = table.rank(),
        .options = {},
        .token = table.token(),
        .under_way = table.under_way(),
        .run = {std::string(protocol::text_of(table.run(), protocol::kNameBytesMax)),
                table.began()}};
    auto options = protocol::read_options(told);
    if (options) {
        accepted.options = std::move(*options);
    } else {
        accepted.unreadable =
            base::make_error(base::ErrorKind::version,
                             "the controller takes options that this node's daemon does not know: "
                             "{}; install the controller's release of Pace on this node",
                             options.error().message);
    }
    return accepted;
}

JoinRefused read(const wire::JoinRefused& table) {
    return {.request = table.request(), .error = read_error(table.kind(), table.message())};
}

PrepareView read(const wire::PrepareView& table) {
    return {
        .job = table.job(), .epoch = table.epoch(), .token = table.token(), .began = table.began()};
}

base::Result<CommitView> read(const wire::CommitView& table) {
    PACE_TRY_ASSIGN(missed, protocol::read_entries<ServerEntry>(table.missed()));
    CommitView view{.job = table.job(),
                    .epoch = table.epoch(),
                    .base_round = table.base_round(),
                    .donor = table.donor(),
                    .behind = {},
                    .leavers = {},
                    .members = {},
                    .adoptions = {}};
    if (table.behind() != nullptr)
        view.behind.assign(table.behind()->begin(), table.behind()->end());
    if (table.leavers() != nullptr)
        view.leavers.assign(table.leavers()->begin(), table.leavers()->end());
    if (table.members() != nullptr) {
        view.members.reserve(table.members()->size());
        for (const auto* member : *table.members())
            view.members.push_back({.rank = member->rank(),
                                    .node = member->node(),
                                    .zone = member->zone(),
                                    .nccl = member->nccl()});
    }
    if (table.adoptions() != nullptr) {
        view.adoptions.reserve(table.adoptions()->size());
        for (const auto* adoption : *table.adoptions())
            view.adoptions.push_back(
                {.newcomer = adoption->newcomer(), .donor = adoption->donor()});
    }
    if (table.shards() != nullptr)
        view.shards.assign(table.shards()->begin(), table.shards()->end());
    view.generation = table.generation();
    view.ledger = protocol::read_ledger<ServerLedger>(table.ledger());
    view.missed = std::move(missed);
    view.model_lost = table.model_lost();
    view.saved_generation = table.saved_generation();
    view.model_begins = table.model_begins();
    return view;
}

base::Result<ServerOrder> read(const wire::ServerOrder& table) {
    PACE_TRY_ASSIGN(entries, protocol::read_entries<ServerEntry>(table.entries()));
    return ServerOrder{table.job(), table.generation(), std::move(entries)};
}

CheckpointEnded read(const wire::CheckpointEnded& table) {
    CheckpointEnded ended{table.job(), table.generation(), table.position(), {}, {}};
    if (table.failure() != nullptr) ended.failure = table.failure()->str();
    if (table.answers() != nullptr)
        for (const auto* answer : *table.answers())
            ended.answers.push_back({answer->rank(), answer->own()});
    return ended;
}

void read(const wire::GroupOrder& table, GroupOrder& ret_order) {
    ret_order.job = table.job();
    ret_order.group = table.group();
    ret_order.epoch = table.epoch();
    ret_order.initial_weight = table.initial_weight();
    ret_order.iteration = table.iteration();
    ret_order.digest = table.digest();
    ret_order.members.clear();
    if (table.members() == nullptr) return;
    ret_order.members.reserve(table.members()->size());
    for (const auto* part : *table.members())
        ret_order.members.push_back({.rank = part->rank(),
                                     .node = part->node(),
                                     .iteration = part->iteration(),
                                     .weight = part->weight(),
                                     .zone = part->zone(),
                                     .nccl = part->nccl()});
}

GroupAbort read(const wire::GroupAbort& table) {
    return {.job = table.job(), .group = table.group(), .reason = reason_of(table.reason())};
}

WorkerSuspended read(const wire::WorkerSuspended& table) {
    return {.job = table.job(), .rank = table.rank(), .reason = reason_of(table.reason())};
}

JobDeleted read(const wire::JobDeleted& table) {
    return {table.request()};
}

WorkerLeft read(const wire::WorkerLeft& table) {
    return {.request = table.request()};
}

Withdrawn read(const wire::Withdrawn& table) {
    return {.job = table.job(), .rank = table.rank()};
}

NodeGone read(const wire::NodeGone& table) {
    return {.node = table.node(), .reason = reason_of(table.reason())};
}

NodeKnown read(const wire::NodeKnown& table) {
    NodeKnown known{.node = table.node(),
                    .name = std::string(protocol::text_of(table.name(), protocol::kNameBytesMax)),
                    .address = {}};
    if (table.address() != nullptr) {
        const auto* address = reinterpret_cast<const std::byte*>(table.address()->data());
        known.address.assign(address, address + table.address()->size());
    }
    return known;
}

StatusReply read(const wire::StatusReply& table) {
    const std::string_view json = protocol::text_of(table.json(), protocol::kToDaemonBytesMax);
    return {.request = table.request(), .json = std::string(json), .number = table.number()};
}

bool deliver(const wire::Envelope& envelope, ControlHandler& handler, GroupOrder& order) {
    switch (envelope.body_type()) {
        case wire::Body::GroupOrder:
            read(*envelope.body_as_GroupOrder(), order);
            handler.on_group_order(order);
            return true;
        case wire::Body::JoinAccepted: {
            const auto accepted = read(*envelope.body_as_JoinAccepted());
            if (accepted) handler.on_join_accepted(*accepted);
            return accepted.ok();
        }
        case wire::Body::JoinRefused:
            handler.on_join_refused(read(*envelope.body_as_JoinRefused()));
            return true;
        case wire::Body::PrepareView:
            handler.on_prepare_view(read(*envelope.body_as_PrepareView()));
            return true;
        case wire::Body::CommitView: {
            const auto view = read(*envelope.body_as_CommitView());
            if (view) handler.on_commit_view(*view);
            return view.ok();
        }
        case wire::Body::ServerOrder: {
            const auto ordered = read(*envelope.body_as_ServerOrder());
            if (ordered) handler.on_server_order(*ordered);
            return ordered.ok();
        }
        case wire::Body::CheckpointEnded:
            handler.on_checkpoint_ended(read(*envelope.body_as_CheckpointEnded()));
            return true;
        case wire::Body::JobEnded: {
            const auto& table = *envelope.body_as_JobEnded();
            handler.on_job_ended({.job = table.job(), .token = table.token()});
            return true;
        }
        case wire::Body::PartEnded: {
            const auto& table = *envelope.body_as_PartEnded();
            handler.on_part_ended({.job = table.job(), .token = table.token()});
            return true;
        }
        case wire::Body::GroupAbort:
            handler.on_group_abort(read(*envelope.body_as_GroupAbort()));
            return true;
        case wire::Body::WorkerSuspended:
            handler.on_worker_suspended(read(*envelope.body_as_WorkerSuspended()));
            return true;
        case wire::Body::NoModel: {
            const auto& table = *envelope.body_as_NoModel();
            handler.on_no_model({.job = table.job(), .rank = table.rank()});
            return true;
        }
        case wire::Body::JobDeleted:
            handler.on_job_deleted(read(*envelope.body_as_JobDeleted()));
            return true;
        case wire::Body::WorkerLeft:
            handler.on_worker_left(read(*envelope.body_as_WorkerLeft()));
            return true;
        case wire::Body::Withdrawn:
            handler.on_withdrawn(read(*envelope.body_as_Withdrawn()));
            return true;
        case wire::Body::NodeGone:
            handler.on_node_gone(read(*envelope.body_as_NodeGone()));
            return true;
        case wire::Body::NodeKnown:
            handler.on_node_known(read(*envelope.body_as_NodeKnown()));
            return true;
        default:
            return false;
    }
}

}  // namespace pace::daemon::control
