// From the core's actions to the control plane's envelopes. Pure; one function per action that is
// a message, each valid until the next call on the same writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "protocol/control_codec.h"
#include "service/controller/core/types.h"

namespace pace::controller {

// To whom an envelope goes: the daemon ignores those of another attachment.
struct Addressee {
    NodeId node = 0;
    uint64_t attachment = 0;
};

class MessageWriter {
  public:
    using Bytes = std::span<const std::byte>;

    // What every daemon that is attached is told.
    struct Pace {
        uint32_t heartbeat_ms = 200;
        uint32_t silence_min_ms = 0;  // no daemon is given up sooner
    };
    // `number` is that of the heartbeat that this answers; 0: none.
    Bytes attached(Addressee to, const Pace& pace, uint64_t number);
    Bytes not_attached(Addressee to, bool excluded, std::string_view reason);
    Bytes refused(Addressee to, const base::Error& error);
    Bytes status_reply(Addressee to, RequestId request, std::string_view json, uint64_t number);

    Bytes write(Addressee to, const JoinAccepted& action);
    Bytes write(Addressee to, const JoinRefused& action);
    Bytes write(Addressee to, const PrepareView& action);
    Bytes write(Addressee to, const CommitView& action);
    Bytes write(Addressee to, const GroupOrder& action);
    Bytes write(Addressee to, const ServerOrder& action);
    Bytes write(Addressee to, const CheckpointEnded& action);
    Bytes write(Addressee to, const JobEnded& action);
    Bytes write(Addressee to, const PartEnded& action);
    Bytes write(Addressee to, const GroupAbort& action);
    Bytes write(Addressee to, const WorkerSuspended& action);
    Bytes write(Addressee to, const NoModel& action);
    Bytes write(Addressee to, const JobDeleted& action);
    Bytes write(Addressee to, const WorkerLeft& action);
    Bytes write(Addressee to, const Withdrawn& action);
    Bytes write(Addressee to, const Probe& action);
    Bytes write(Addressee to, const NodeGone& action);
    Bytes write(Addressee to, const NodeKnown& action);

  private:
    template <typename Table>
    Bytes finish(Addressee to, flatbuffers::Offset<Table> body) {
        return envelope_.finish(to.node, to.attachment, body);
    }

    protocol::EnvelopeWriter envelope_;
};

}  // namespace pace::controller
