#include "service/controller/shell/settings/listen_policy.h"

#include "service/controller/zmq/endpoint.h"

namespace pace::controller {

using control_zmq::Reach;

namespace {

constexpr std::string_view kTcp = "tcp://";

}  // namespace

base::Result<std::string> listenable(std::string_view endpoint, const ControllerConfig& config) {
    // Only processes on this machine reach these endpoints, and the file's mode limits which.
    if (endpoint.starts_with("inproc://") || endpoint.starts_with("ipc://"))
        return std::string(endpoint);
    if (!endpoint.starts_with(kTcp))
        return base::make_error(base::ErrorKind::invalid,
                                "cannot listen on \"{}\"; write tcp://ADDRESS:PORT", endpoint);
    PACE_TRY_ASSIGN(parsed, control_zmq::parse_tcp(endpoint));
    const Reach reach = control_zmq::reach_of(parsed.host);
    if (reach == Reach::unknown)
        return base::make_error(base::ErrorKind::invalid,
                                "cannot listen on \"{}\": {} is no numeric address; name the "
                                "address of the interface that the nodes reach",
                                endpoint, parsed.host);
    if (reach == Reach::every_interface && !config.any_interface)
        return base::make_error(base::ErrorKind::denied,
                                "{} would listen on every interface; name the address of the one "
                                "that the nodes reach, or set any_interface = true",
                                endpoint);
    if (reach != Reach::loopback && config.curve_secret_file.empty() && !config.insecure)
        return base::make_error(base::ErrorKind::denied,
                                "{} can be reached from other machines and would be open to all of "
                                "them; make keys with `pacectl keygen` and set curve_secret_file, "
                                "or set insecure = true on a closed network",
                                endpoint);
    if (reach != Reach::loopback && config.curve_allowed_dir.empty() && !config.insecure)
        return base::make_error(base::ErrorKind::denied,
                                "{} can be reached from other machines, and without a list of keys "
                                "whoever knows this controller's public key could attach; put the "
                                "nodes' public keys into a folder (`pacectl key add`) and name it "
                                "as curve_allowed_dir, or set insecure = true on a closed network",
                                endpoint);
    if (parsed.host.find(':') != std::string::npos) parsed.host = "[" + parsed.host + "]";
    return fmt::format("{}{}:{}", kTcp, parsed.host, parsed.port);
}

}  // namespace pace::controller
