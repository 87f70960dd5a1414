// NodeConfig: a daemon's configuration as plain values, read from the settings table.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/clients/quota.h"
#include "daemon/device/devices.h"
#include "daemon/runtime/services.h"
#include "settings/settings.h"

namespace pace::daemon {

struct NodeConfig {
    std::string name;
    std::string zone;     // empty: none
    std::string socket;   // empty: no socket (embedded daemons)
    bool hosted = false;  // runs in its trainer's process, and ends with it
    std::string socket_group;
    std::string controller;  // empty: one in this process
    std::string journal;
    std::string data_interface;
    std::string data_transport = "tls";
    uint16_t data_port = 0;
    bool closed_network = false;
    std::string curve_server_key_file;
    std::string curve_secret_file;
    bool insecure = false;
    uint32_t threads = 0;  // 0: one per processor
    uint32_t heartbeat_ms = 200;
    uint32_t clients_max = 1024;
    QuotaLimits limits;
    AccountLimits accounts;
    ExchangeOptions exchange;
    device::DeviceOptions gpu;
    // Look for this node's GPUs when the node is created, which may block for seconds. Otherwise
    // the search waits until a trainer asks for a GPU, since a process that hosts a daemon may want
    // to fork first. Such a daemon uses no NCCL.
    bool find_gpus = false;
    bool nccl = true;  // among GPUs, if the library exists
};

// Checks what the table cannot: names, and settings that depend on each other.
base::Result<NodeConfig> node_config(const settings::Settings& settings);

}  // namespace pace::daemon
