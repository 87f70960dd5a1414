// Services: what every part of the exchange engine is handed. The node owns all of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/loop/event_loop.h"
#include "base/threads/background_thread.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/messages/broadcast.h"
#include "daemon/collectives/messages/transfer.h"
#include "daemon/device/devices.h"
#include "daemon/kernels/aside.h"
#include "daemon/kernels/pool.h"
#include "daemon/recorder/recorder.h"
#include "daemon/recorder/recordings.h"
#include "daemon/runtime/accounts.h"
#include "daemon/runtime/actives.h"
#include "daemon/runtime/counters.h"
#include "daemon/runtime/peers.h"
#include "transports/transport.h"

namespace pace::daemon {

class Controller;
class GpuGroups;

struct ExchangeOptions {
    collectives::AllReduceOptions all_reduce;
    collectives::BroadcastOptions broadcast;
    collectives::TransferOptions transfer;
    base::Duration progress_deadline = std::chrono::seconds(2);
    // Sums and copies that touch fewer bytes than this are made by the event loop itself, which
    // also waits for the pool's share: about a millisecond. Larger ones leave the loop
    // (kernels/aside.h): for a small one, being woken again would cost more than its work.
    size_t inline_bytes_max = size_t{16} << 20U;
    // Buffers that are made while they travel do so in pieces of about this size. Equal on all
    // nodes.
    size_t piece_bytes = size_t{4} << 20U;
    // A member of such an exchange that makes nothing for so long is left to a later exchange. Well
    // below progress_deadline, at which its peers would give up this node.
    base::Duration making_deadline = std::chrono::seconds(1);
    // A message about a model that is lost is sent again, in another view, after this. More than
    // progress_deadline, at which a cut connection is given up anyway. So far below ten seconds
    // that a call ends within ten seconds even if the message is lost twice. A node that needs as
    // long to load a shard continues over views, and a message that is sent twice counts once.
    base::Duration answer_wait = std::chrono::seconds(3);
    // A job without workers on this node is forgotten after this, if no exchange of the job is
    // under way.
    base::Duration unused_keep = std::chrono::seconds(30);
    // A peer that the controller has not named so long after this node has attached is forgotten.
    // The peers of a controller that was restarted are there by then.
    base::Duration unnamed_keep = std::chrono::seconds(10);
    // The folder for checkpoints of parameter servers; empty: none are kept.
    std::string checkpoints;
    // For a call that has lasted so long, the daemon tells what it waits for: a person wants to
    // know by then, and a round of a busy cluster takes less.
    base::Duration wait_notice = std::chrono::seconds(10);
    // How long the buffers of a trainer that died are kept for its successor.
    base::Duration buffers_keep = std::chrono::minutes(10);
    // This node's own NCCL (protocol/nccl.h), 0: none; and the most communicators of it that are
    // kept.
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
    base::BackgroundThread& disk;  // writes and reads files
    Controller& control;
    GpuGroups& gpu_groups;
    std::shared_ptr<Accounts> accounts = Accounts::create();
    // Looks at which files there are, without waiting for files that are being written.
    std::shared_ptr<base::BackgroundThread> lists = std::make_shared<base::BackgroundThread>();
    device::Devices* gpus = nullptr;  // null: none, ever
    NodeId self = 0;  // this node's number; 0 while not attached. Set by the engine.
    // The user of each job that is known here. Set by the engine.
    std::unordered_map<uint32_t, uint32_t> users;
    // The jobs' names, for the log. Set by the engine.
    std::unordered_map<uint32_t, std::string> job_names;
    // Records what happens here, for later questions. keep_recording has the record kept in a file;
    // its argument is a word that says why. The node sets keep_recording.
    std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
    Recordings* recordings = &Recordings::none();  // set by the node; never null
    Actives active;

    // For work on as much memory as a model has.
    kernels::Aside aside(base::Origin origin = base::Origin::here()) const {
        return {pool, loop.poster(origin), options.inline_bytes_max};
    }

    std::string job_name(uint32_t job) const {
        const auto name = job_names.find(job);
        return name == job_names.end() ? fmt::format("#{}", job) : name->second;
    }

    // The user who pays for what a job has here.
    Payer payer_of(uint32_t job) const {
        const auto user = users.find(job);
        return {accounts, user == users.end() ? 0 : user->second};
    }
};

}  // namespace pace::daemon
