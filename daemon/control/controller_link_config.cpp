#include "daemon/control/controller_link_config.h"

#include "protocol/nccl.h"
#include "protocol/types.h"
#include "protocol/zone.h"
#include "service/controller/zmq/endpoint.h"

namespace pace::daemon {

base::Result<> check(const ControllerLinkConfig& config) {
    const bool known = config.endpoint.starts_with("tcp://") ||
                       config.endpoint.starts_with("ipc://") ||
                       config.endpoint.starts_with("inproc://");
    if (!known)
        return base::make_error(base::ErrorKind::invalid,
                                "the controller's endpoint \"{}\" is none; write tcp://HOST:PORT",
                                config.endpoint);
    if (config.endpoint.starts_with("inproc://") && !config.context)
        return base::make_error(base::ErrorKind::invalid,
                                "{} needs the context of the controller in this process",
                                config.endpoint);
    if (config.name.empty() || config.name.size() > protocol::kNameBytesMax)
        return base::make_error(base::ErrorKind::invalid,
                                "the node name \"{}\" has not 1 to {} characters", config.name,
                                protocol::kNameBytesMax);
    if (!protocol::is_zone(config.zone))
        return base::make_error(base::ErrorKind::invalid, "the zone \"{}\" has not {}", config.zone,
                                protocol::kZoneRule);
    if (config.nccl > protocol::kNcclMax)
        return base::make_error(base::ErrorKind::invalid,
                                "the NCCL version {} is none, they end at {}", config.nccl,
                                protocol::kNcclMax);
    if (config.generation == 0)
        return base::make_error(base::ErrorKind::invalid, "the generation is 0; draw a number");
    if (config.controller_key_file.empty() != config.secret_key_file.empty())
        return base::make_error(base::ErrorKind::invalid,
                                "CURVE needs both the controller's public key and this node's "
                                "secret key; set both or none");
    const bool has_keys = !config.secret_key_file.empty();
    if (control_zmq::is_off_loopback(config.endpoint) && !has_keys && !config.insecure)
        return base::make_error(
            base::ErrorKind::denied,
            "the controller {} is on another machine, or may be, and nothing would prove either "
            "side to the other or hide what they say; make keys with `pacectl keygen` and set "
            "curve_server_key_file and curve_secret_file, or set insecure = true on a closed "
            "network",
            config.endpoint);
    return {};
}

}  // namespace pace::daemon
