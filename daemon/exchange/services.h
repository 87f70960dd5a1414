// Services: what every part of the exchange engine is handed. The node owns all of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/background_thread.h"
#include "base/event_loop.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/broadcast.h"
#include "daemon/collectives/transfer.h"
#include "daemon/device/devices.h"
#include "daemon/exchange/peers.h"
#include "daemon/kernels/pool.h"
#include "daemon/telemetry/counters.h"
#include "transports/transport.h"

namespace pace::daemon {

class ControllerLink;
class Active;
class GpuGroups;

struct ExchangeOptions {
    collectives::AllReduceOptions all_reduce;
    collectives::BroadcastOptions broadcast;
    collectives::TransferOptions transfer;
    base::Duration progress_deadline = std::chrono::seconds(2);
    // The event loop works on reductions and copies that touch fewer bytes than this itself, and waits for the pool's share: about
    // a millisecond. It only hands over more: being woken again would cost a small one more than its work.
    size_t inline_bytes_max = size_t{16} << 20U;
    // Buffers that are made while they travel do so in pieces of about this size. Equal on all nodes.
    size_t piece_bytes = size_t{4} << 20U;
    // A member of such an exchange that makes nothing for so long is left to a later one; well below the deadline above, at
    // which its peers would give up this node.
    base::Duration making_deadline = std::chrono::seconds(1);
    // The folder for checkpoints of parameter servers; empty: none are kept.
    std::string checkpoints;
    // This node's own NCCL (protocol/nccl.h), 0: none; and how many of its communicators are kept at most.
    uint32_t nccl = 0;
    size_t nccl_communicators = 16;
};

struct Services {
    base::EventLoop& loop;
    transports::Transport& transport;
    Peers& peers;
    kernels::WorkerPool& pool;
    Counters& counters;
    ExchangeOptions options;
    base::BackgroundThread& disk;
    device::Devices* gpus = nullptr;       // null: none, ever
    GpuGroups* gpu_groups = nullptr;       // set by the engine
    ControllerLink* control = nullptr;     // set before any request arrives
    NodeId self = 0;                       // this node's number; 0 while not attached
    std::function<void()> exchange_began;  // set by the engine
    // Exchanges under way with other nodes, for the watch over their progress.
    std::vector<std::weak_ptr<Active>> active;
};

}  // namespace pace::daemon
