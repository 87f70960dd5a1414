// Document: the "daemon" document, one daemon's report about itself, as JSON. pacectl shows it;
// doctor checks it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/loop/loop_watch.h"
#include "daemon/clients/client.h"
#include "daemon/clients/quota.h"
#include "daemon/runtime/counters.h"

namespace pace::daemon {

struct DocumentSource {
    std::string name;
    std::string socket;
    base::TimePoint started;
    std::string controller;  // empty: embedded
    bool controller_reachable = false;
    std::string controller_problem;  // why it is not attached; empty: attached or unknown
    std::string transport;
    std::string transports;  // transports that it may use, as UCX names them (UCX_TLS)
    std::string devices;
    size_t address_bytes = 0;
    uint64_t messages_unexpected = 0;
    size_t threads = 0;
    QuotaLimits limits;
    AccountLimits accounts;
    std::map<uint32_t, Amount> users;
    uint64_t memory_used = 0;
    uint32_t clients_max = 0;
    std::vector<Client::Summary> clients;
    std::vector<Engine::ShardSummary> shards;
    std::vector<Engine::JobWait> waits;
    std::vector<device::Devices::Summary> gpus;
    std::string gpus_absent;  // why there is none
    int cuda_version = 0;     // version of the driver, 13000: 13.0; 0: no driver
    uint32_t nccl = 0;        // version used among GPUs (protocol/nccl.h); 0: none
    std::string nccl_absent;  // why there is none
    Counters counters;
    base::LoopWatch::Step loop_longest;  // longest callback of the event loop
    uint64_t loop_long_steps = 0;        // callbacks that took longer than allowed
    // Lateness of the heartbeats, which many long callbacks together can cause.
    base::Duration heartbeat_late{};
};

std::string daemon_document(const DocumentSource& source);

}  // namespace pace::daemon
