// ControllerLinkConfig: the controller to which a link attaches, this node's identity, and the
// keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/control/connection.h"
#include "daemon/recorder/recorder.h"
#include "service/controller/zmq/context.h"

namespace pace::daemon {

struct ControllerLinkConfig {
    std::string endpoint;  // "tcp://host:port", or "inproc://name" of an embedded controller
    // Shared with an embedded ControllerServer. Null: the link makes its own.
    std::shared_ptr<control_zmq::Context> context;
    // Makes the link's connection. Null: the connection is ZeroMQ's.
    std::function<std::unique_ptr<control::Connection>()> connect{};

    std::string name;                // of this node: letters, digits, '.', '_', '-'; at most 63
    uint64_t generation = 0;         // random number of this daemon process, never 0
    std::vector<std::byte> address;  // of the data plane; opaque here
    std::string host;                // for people
    uint32_t processors = 0;
    std::string zone{};  // rack or data center (protocol/zone.h); may be empty
    // This node's NCCL version (protocol/nccl.h); 0: none.
    uint32_t nccl = 0;
    bool hosted = false;  // the daemon runs in its trainer's process

    // CURVE, all or none: files with the controller's public key and this daemon's secret key, as
    // written by `pacectl keygen`.
    std::string controller_key_file;
    std::string secret_key_file;
    // Without keys, only a controller on this machine is accepted unless this is set.
    bool insecure = false;

    base::Duration silence_max = std::chrono::seconds(2);

    // Notes each message; may be null.
    std::shared_ptr<Recorder> recorder{};
};

// Error: invalid; the message names the field and suggests a value.
base::Result<> check(const ControllerLinkConfig& config);

}  // namespace pace::daemon
