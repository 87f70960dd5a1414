#include "daemon/config.h"

#include <unistd.h>

#include <array>

#include "daemon/runtime/memory_room.h"
#include "protocol/options/names.h"
#include "protocol/zone.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

std::string host_name() {
    std::array<char, 256> text{};
    if (gethostname(text.data(), text.size() - 1) != 0 || text[0] == '\0') return "localhost";
    return text.data();
}

void read_exchange(const settings::Settings& settings, ExchangeOptions& exchange) {
    exchange.progress_deadline = settings.milliseconds("progress_deadline_ms");
    exchange.wait_notice = settings.milliseconds("wait_notice_ms");
    exchange.all_reduce.small_bytes_max = settings.bytes("small_bytes_max");
    exchange.all_reduce.chunk_bytes_max = settings.bytes("chunk_bytes");
    exchange.all_reduce.chunk_bytes_min =
        std::min(exchange.all_reduce.chunk_bytes_min, exchange.all_reduce.chunk_bytes_max);
    exchange.all_reduce.window = static_cast<size_t>(settings.integer("window"));
    exchange.broadcast.small_bytes_max = exchange.all_reduce.small_bytes_max;
    exchange.checkpoints = settings.text("checkpoints");
    exchange.nccl_communicators = static_cast<size_t>(settings.integer("nccl_communicators"));
    exchange.buffers_keep = std::chrono::seconds(settings.integer("buffers_keep_s"));
    exchange.transfer.chunk_bytes = exchange.all_reduce.chunk_bytes_max;
}

AccountLimits read_accounts(const settings::Settings& settings) {
    AccountLimits limits;
    limits.user_bytes_max = settings.bytes("user_bytes_max");
    if (limits.user_bytes_max == 0) limits.user_bytes_max = memory_total() / 4 * 3;
    limits.user_buffers_max = static_cast<uint32_t>(settings.integer("user_buffers_max"));
    limits.user_clients_max = static_cast<uint32_t>(settings.integer("user_clients_max"));
    limits.memory_max = settings.bytes("memory_max");
    return limits;
}

}  // namespace

Result<NodeConfig> node_config(const settings::Settings& settings) {
    NodeConfig config;
    config.name = settings.text("name").empty() ? host_name() : settings.text("name");
    if (!protocol::is_name(config.name))
        return base::make_error(
            ErrorKind::invalid,
            "name \"{}\" ({}) must have 1 to {} letters, digits, '.', '_' or '-'", config.name,
            settings.origin("name"), protocol::kNameBytesMax);
    config.zone = settings.text("zone");
    if (!protocol::is_zone(config.zone))
        return base::make_error(ErrorKind::invalid, "zone \"{}\" ({}) must have {}", config.zone,
                                settings.origin("zone"), protocol::kZoneRule);
    config.socket = settings.text("socket");
    config.socket_group = settings.text("socket_group");
    config.controller = settings.text("controller");
    config.journal = settings.text("journal");
    if (!config.controller.empty() && !config.journal.empty())
        return base::make_error(ErrorKind::invalid,
                                "journal ({}) is for a daemon that runs its own controller, but "
                                "controller ({}) names another: remove "
                                "one of them",
                                settings.origin("journal"), settings.origin("controller"));
    config.gpu = {settings.text("gpu") == "off", settings.text("plugins")};
    config.nccl = settings.text("nccl") != "off";
    config.data_interface = settings.text("data_interface");
    config.data_transport = settings.text("data_transport");
    config.data_port = static_cast<uint16_t>(settings.integer("data_port"));
    config.closed_network = settings.enabled("closed_network");
    config.curve_server_key_file = settings.text("curve_server_key_file");
    config.curve_secret_file = settings.text("curve_secret_file");
    config.insecure = settings.enabled("insecure");
    config.threads = static_cast<uint32_t>(settings.integer("threads"));
    config.heartbeat_ms = static_cast<uint32_t>(settings.milliseconds("heartbeat_ms").count());
    config.clients_max = static_cast<uint32_t>(settings.integer("clients_max"));
    config.limits.bytes_max = settings.bytes("client_bytes_max");
    config.limits.buffers_max = static_cast<uint32_t>(settings.integer("client_buffers_max"));
    config.accounts = read_accounts(settings);
    read_exchange(settings, config.exchange);
    return config;
}

}  // namespace pace::daemon
