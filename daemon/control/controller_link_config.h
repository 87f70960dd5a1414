// ControllerLinkConfig: to whom a link attaches, as whom, and with which keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/recorder/recorder.h"
#include "service/controller/shell/zmq/context.h"

namespace pace::daemon {

struct ControllerLinkConfig {
    std::string endpoint;  // "tcp://host:port", or "inproc://name" of an embedded controller
    // Shared with an embedded ControllerServer; none: the link makes its own.
    std::shared_ptr<control_zmq::Context> context;

    std::string name;                // of this node: letters, digits, '.', '_', '-'; at most 63
    uint64_t generation = 0;         // random number of this daemon process, never 0
    std::vector<std::byte> address;  // of the data plane; opaque here
    std::string host;                // for people
    uint32_t processors = 0;
    std::string zone{};   // rack or data center (protocol/zone.h); may be empty
    uint32_t nccl = 0;    // that this node could use (protocol/nccl.h); 0: none
    bool hosted = false;  // this daemon lives in its trainer's process

    // CURVE, all or none: the controller's public key, and this daemon's secret key; files as
    // written by `pacectl keygen`.
    std::string controller_key_file;
    std::string secret_key_file;
    // Without them only a controller on this machine is talked to, unless this is set.
    bool insecure = false;

    base::Duration silence_max = std::chrono::seconds(2);

    // Notes each message; null: nobody does.
    std::shared_ptr<Recorder> recorder{};
};

// Fails with invalid, naming the field and what to write instead.
base::Result<> check(const ControllerLinkConfig& config);

}  // namespace pace::daemon
