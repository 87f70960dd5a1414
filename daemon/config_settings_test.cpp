// Every setting of the daemon has an effect: another value makes another configuration.
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "daemon/config.h"
#include "service/http/options.h"
#include "settings/log_level.h"
#include "settings/other_value.h"

namespace pace::daemon {
namespace {

// Settings that the programs take by themselves, and where.
const std::map<std::string_view, std::string_view> kTakenElsewhere{
    {"spin_us", "the event loop is made with it, by main.cpp and embed.cpp"}};

std::string text_of(const ExchangeOptions& options) {
    // Compiles only if it names every member. Those that are not used are no settings.
    const auto& [all_reduce, broadcast, transfer, progress_deadline, inline_bytes_max, piece_bytes,
                 making_deadline, answer_wait, unused_keep, unnamed_keep, checkpoints, wait_notice,
                 buffers_keep, nccl, nccl_communicators] = options;
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", all_reduce.small_bytes_max,
                       all_reduce.chunk_bytes_min, all_reduce.chunk_bytes_max, all_reduce.window,
                       broadcast.small_bytes_max, broadcast.window, transfer.chunk_bytes,
                       transfer.window, progress_deadline.count(), checkpoints, wait_notice.count(),
                       buffers_keep.count(), nccl, nccl_communicators);
}

std::string text_of(const NodeConfig& config) {
    // Compiles only if it names every member.
    const auto& [name, zone, socket, hosted, socket_group, controller, journal, data_interface,
                 data_transport, data_port, closed_network, curve_server_key_file,
                 curve_secret_file, insecure, threads, heartbeat_ms, clients_max, limits, accounts,
                 exchange, gpu, find_gpus, nccl] = config;
    return fmt::format(
               "{} | {} | {} {} | {} | {} | {} | {} | {} | {} {} | {} | {} | {} {} {} {} | ", name,
               zone, socket, hosted, socket_group, controller, journal, data_interface,
               data_transport, data_port, closed_network, curve_server_key_file, curve_secret_file,
               insecure, threads, heartbeat_ms, clients_max) +
           fmt::format("{} {} | {} {} {} {} | {} {} {} {} | ", limits.bytes_max, limits.buffers_max,
                       accounts.user_bytes_max, accounts.user_buffers_max,
                       accounts.user_clients_max, accounts.memory_max, gpu.off, gpu.plugins,
                       find_gpus, nccl) +
           text_of(exchange);
}

// All that the program takes from its settings.
std::string configuration_of(const settings::Settings& settings) {
    const auto config = node_config(settings);
    if (!config) return config.error().message;
    const http::Options http = http::options_from(settings);
    return text_of(*config) + fmt::format(" | {} | {} | {} | {} | {} | {} | {}",
                                          static_cast<int>(settings::log_level_of(settings)),
                                          http.listen, fmt::join(http.users, ","), http.token_file,
                                          http.operator_token_file, http.tls_certificate,
                                          http.tls_key);
}

TEST(NodeConfig, HasAnEffectOfEverySetting) {
    const std::string usual = configuration_of(settings::Settings(settings::daemon_table()));
    for (const settings::Setting& setting : settings::daemon_table().settings) {
        settings::Settings settings(settings::daemon_table());
        settings.set(setting, settings::other_value_of(setting), "test");
        ASSERT_TRUE(node_config(settings)) << setting.name << " has a value that is refused";
        const bool has_effect = configuration_of(settings) != usual;
        EXPECT_NE(has_effect, kTakenElsewhere.contains(setting.name)) << setting.name;
    }
}

TEST(NodeConfig, TakesNothingElsewhereThatIsNoSetting) {
    for (const auto& [name, where] : kTakenElsewhere)
        EXPECT_NE(settings::find(settings::daemon_table(), name), nullptr) << name << ": " << where;
}

}  // namespace
}  // namespace pace::daemon
