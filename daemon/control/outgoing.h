// From the daemon's structs to the control plane's envelopes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/control/messages.h"
#include "protocol/control_codec.h"

namespace pace::daemon::control {

// What the daemon says of itself when it attaches.
struct Hello {
    std::string name;
    uint64_t generation = 0;
    std::vector<std::byte> address;
    std::string host;
    uint32_t processors = 0;
    NodeId node = 0;  // the last one; 0: none
    std::string zone{};
    uint32_t nccl = 0;
    bool hosted = false;
};

// Writes envelopes under one attachment at a time; each is valid until the next.
class Outgoing {
  public:
    using Bytes = std::span<const std::byte>;

    void set_attachment(NodeId node, uint64_t number) {
        node_ = node;
        number_ = number;
    }

    Bytes write(const Hello& message);
    Bytes write(const Heartbeat& message);
    Bytes write(const Goodbye& message);
    Bytes write(const PeerLost& message);
    Bytes write(const WorkerJoin& message);
    Bytes write(const JobCreate& message);
    Bytes write(const JobDelete& message);
    Bytes write(const WorkerLeave& message);
    Bytes write(const JobKept& message);
    Bytes write(const WorkerAdmit& message);
    Bytes write(const Ready& message);
    Bytes write(const Withdraw& message);
    Bytes write(const GroupDone& message);
    Bytes write(const ViewPrepared& message);
    Bytes write(const Stalled& message);
    Bytes write(const LinkCut& message);
    Bytes write(const ServerStored& message);
    Bytes write(const ServerAsked& message);
    Bytes write(const ServerAssigned& message);
    Bytes write(const ServerSaved& message);
    Bytes write(const CheckpointAsked& message);
    Bytes write(const StatusRequest& message);

  private:
    template <typename Table>
    Bytes finish(flatbuffers::Offset<Table> body) {
        return envelope_.finish(node_, number_, body);
    }

    protocol::EnvelopeWriter envelope_;
    NodeId node_ = 0;
    uint64_t number_ = 0;
};

}  // namespace pace::daemon::control
