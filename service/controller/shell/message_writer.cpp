#include "service/controller/shell/message_writer.h"

#include "protocol/option_codec.h"
#include "protocol/server_codec.h"

namespace pace::controller {

namespace wire = protocol::control;

namespace {

auto text(flatbuffers::FlatBufferBuilder& builder, std::string_view words) {
    const std::string_view cut = words.substr(0, protocol::kReasonBytesMax);
    return builder.CreateString(cut.data(), cut.size());
}

}  // namespace

MessageWriter::Bytes MessageWriter::attached(Addressee to, const Pace& pace, uint64_t number) {
    return finish(to, wire::CreateAttached(envelope_.begin(), to.node, pace.heartbeat_ms, number,
                                           pace.silence_min_ms));
}

MessageWriter::Bytes MessageWriter::not_attached(Addressee to, bool excluded,
                                                 std::string_view reason) {
    auto& builder = envelope_.begin();
    return finish(to, wire::CreateNotAttached(builder, excluded, text(builder, reason)));
}

MessageWriter::Bytes MessageWriter::refused(Addressee to, const base::Error& error) {
    auto& builder = envelope_.begin();
    return finish(to, wire::CreateRefused(builder, static_cast<int32_t>(error.kind),
                                          text(builder, error.message)));
}

MessageWriter::Bytes MessageWriter::status_reply(Addressee to, RequestId request,
                                                 std::string_view json, uint64_t number) {
    auto& builder = envelope_.begin();
    return finish(to,
                  wire::CreateStatusReply(builder, request,
                                          builder.CreateString(json.data(), json.size()), number));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const JoinAccepted& action) {
    auto& builder = envelope_.begin();
    const auto options =
        protocol::write_job_options(builder, protocol::write_options(action.options));
    return finish(to, wire::CreateJoinAccepted(
                          builder, action.request, action.job, action.rank, options, action.token,
                          action.under_way, builder.CreateString(action.run.id), action.run.began));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const JoinRefused& action) {
    auto& builder = envelope_.begin();
    return finish(to, wire::CreateJoinRefused(builder, action.request,
                                              static_cast<int32_t>(action.error.kind),
                                              text(builder, action.error.message)));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const PrepareView& action) {
    return finish(to, wire::CreatePrepareView(envelope_.begin(), action.job, action.epoch,
                                              action.token, action.began));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const CommitView& action) {
    auto& builder = envelope_.begin();
    const auto members = builder.CreateVectorOfStructs<wire::Member>(
        action.members.size(), [&action](size_t i, wire::Member* ret_member) {
            *ret_member = wire::Member(action.members[i].rank, action.members[i].node,
                                       action.members[i].zone, action.members[i].nccl);
        });
    const auto adoptions = builder.CreateVectorOfStructs<wire::Adoption>(
        action.adoptions.size(), [&action](size_t i, wire::Adoption* ret_adoption) {
            *ret_adoption = wire::Adoption(action.adoptions[i].newcomer, action.adoptions[i].donor);
        });
    const auto behind = builder.CreateVector(action.behind);
    const auto leavers = builder.CreateVector(action.leavers);
    if (action.generation == 0)
        return finish(to,
                      wire::CreateCommitView(builder, action.job, action.epoch, action.base_round,
                                             action.donor, members, adoptions, behind, leavers));
    const auto shards = builder.CreateVector(action.shards);
    const auto ledger = protocol::write_ledger(builder, action.ledger);
    const auto missed = protocol::write_entries(builder, action.missed);
    return finish(to, wire::CreateCommitView(
                          builder, action.job, action.epoch, action.base_round, action.donor,
                          members, adoptions, behind, leavers, shards, action.generation, ledger,
                          missed, action.model_lost, action.saved_generation, action.model_begins));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const ServerOrder& action) {
    auto& builder = envelope_.begin();
    const auto entries = protocol::write_entries(builder, action.entries);
    return finish(to, wire::CreateServerOrder(builder, action.job, action.generation, entries));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const CheckpointEnded& action) {
    auto& builder = envelope_.begin();
    const auto answers = builder.CreateVectorOfStructs<wire::CheckpointAnswer>(
        action.answers.size(), [&action](size_t i, wire::CheckpointAnswer* ret_answer) {
            *ret_answer = wire::CheckpointAnswer(action.answers[i].rank, action.answers[i].own);
        });
    const auto failure = action.failure.empty() ? 0 : builder.CreateString(action.failure);
    return finish(to, wire::CreateCheckpointEnded(builder, action.job, action.generation,
                                                  action.position, failure, answers));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const JobEnded& action) {
    return finish(to, wire::CreateJobEnded(envelope_.begin(), action.job, action.token));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const PartEnded& action) {
    return finish(to, wire::CreatePartEnded(envelope_.begin(), action.job, action.token));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const GroupOrder& action) {
    auto& builder = envelope_.begin();
    const auto members = builder.CreateVectorOfStructs<wire::Part>(
        action.members.size(), [&action](size_t i, wire::Part* ret_part) {
            const GroupOrder::Part& part = action.members[i];
            *ret_part =
                wire::Part(part.rank, part.node, part.iteration, part.weight, part.zone, part.nccl);
        });
    return finish(to,
                  wire::CreateGroupOrder(builder, action.job, action.group, action.epoch, members,
                                         action.initial_weight, action.iteration, action.digest));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const GroupAbort& action) {
    auto& builder = envelope_.begin();
    return finish(to, wire::CreateGroupAbort(builder, action.job, action.group,
                                             text(builder, action.reason)));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const WorkerSuspended& action) {
    auto& builder = envelope_.begin();
    return finish(to, wire::CreateWorkerSuspended(builder, action.job, action.rank,
                                                  text(builder, action.reason)));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const NoModel& action) {
    return finish(to, wire::CreateNoModel(envelope_.begin(), action.job, action.rank));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const JobDeleted& action) {
    return finish(to, wire::CreateJobDeleted(envelope_.begin(), action.request));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const WorkerLeft& action) {
    return finish(to, wire::CreateWorkerLeft(envelope_.begin(), action.request));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const Withdrawn& action) {
    return finish(to, wire::CreateWithdrawn(envelope_.begin(), action.job, action.rank));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const Probe& /*action*/) {
    return finish(to, wire::CreateProbe(envelope_.begin()));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const NodeGone& action) {
    auto& builder = envelope_.begin();
    return finish(to, wire::CreateNodeGone(builder, action.node, text(builder, action.reason)));
}

MessageWriter::Bytes MessageWriter::write(Addressee to, const NodeKnown& action) {
    auto& builder = envelope_.begin();
    const auto name = text(builder, action.name);
    const auto address = builder.CreateVector(
        reinterpret_cast<const uint8_t*>(action.address.data()), action.address.size());
    return finish(to, wire::CreateNodeKnown(builder, action.node, name, address));
}

}  // namespace pace::controller
