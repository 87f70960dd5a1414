#include "daemon/data_plane.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "base/log/daemon_events.h"
#include "base/log/log.h"
#include "base/repeated.h"
#include "transports/memory/memory_transport.h"
#include "transports/network/interfaces.h"
#include "transports/tls/tls_transport.h"
#include "transports/ucx/ucx_transport.h"

namespace pace::daemon {

using base::Result;

namespace {

// The value of data_transport for the transport that is not UCX.
constexpr std::string_view kTls = "tls";

// UCX trusts any process that reaches its port: a few unexpected bytes end the daemon.
Result<> check_network(const NodeConfig& config, const std::string& devices) {
    if (is_closed(config, devices)) return {};
    return base::make_error(base::ErrorKind::denied,
                            "data_interface \"{}\" leads to a network, on which UCX would listen: "
                            "whoever reaches its port could end this daemon, or write to its "
                            "memory. If nobody but the cluster's nodes can send anything there, "
                            "set closed_network = true; otherwise set data_transport = \"tls\"",
                            config.data_interface);
}

// `said` has what was told before, by address and reason.
void tell_of(const transports::TlsTransport::Stranger& stranger, base::Repeated& said) {
    const std::string address = stranger.source.substr(0, stranger.source.rfind(':'));
    const uint64_t times =
        said.is_due(address + stranger.reason, base::now(), stranger.unreported + 1);
    if (times == 0) return;
    base::log_event(base::events::kDataPortStranger,
                    {{"from", stranger.source}, {"because", stranger.reason}, {"times", times}});
}

// One or two retransmissions by TCP do not make a connection stuck.
std::chrono::milliseconds unmoved_max(const NodeConfig& config) {
    return std::max(
        std::chrono::duration_cast<std::chrono::milliseconds>(config.exchange.progress_deadline),
        std::chrono::milliseconds(1000));
}

Result<DataPlane> open_tls(const NodeConfig& config) {
    PACE_TRY_ASSIGN(addresses, transports::resolve_addresses(config.data_interface));
    transports::TlsOptions options;
    options.listen.clear();
    for (const std::string& address : addresses)
        options.listen.push_back({address, config.data_port});
    options.unmoved_max = unmoved_max(config);
    PACE_TRY_ASSIGN(tls, transports::TlsTransport::create(options));
    tls->set_stranger_handler(
        [said = std::make_shared<base::Repeated>()](const transports::TlsTransport::Stranger& who) {
            tell_of(who, *said);
        });
    return DataPlane{fmt::format("{}", fmt::join(addresses, ",")), {}, std::move(tls)};
}

Result<DataPlane> open_ucx(const NodeConfig& config) {
    PACE_TRY_ASSIGN(chosen, transports::resolve_devices(config.data_interface));
    PACE_TRY(check_network(config, chosen));
    transports::UcxOptions options;
    options.net_devices = chosen;
    options.tls = config.data_transport;
    options.unmoved_max = unmoved_max(config);
    PACE_TRY_ASSIGN(ucx, transports::UcxTransport::create(options));
    return DataPlane{chosen, {}, std::move(ucx)};
}

}  // namespace

bool is_closed(const NodeConfig& config, const std::string& devices) {
    return config.closed_network || transports::are_loopback(devices);
}

Result<DataPlane> open_data_plane(const NodeConfig& config) {
    if (config.controller.empty()) {
        DataPlane plane;
        plane.lonely = std::make_unique<transports::MemoryNetwork>();
        plane.transport = plane.lonely->create();
        return plane;
    }
    return config.data_transport == kTls ? open_tls(config) : open_ucx(config);
}

}  // namespace pace::daemon
