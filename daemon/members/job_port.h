// JobPort: what the parts of a job tell the job, and ask of it. The parts do not know each other.
//
// Threads: the event loop's alone calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/control/messages.h"
#include "daemon/members/worker.h"
#include "daemon/runtime/peers.h"
#include "daemon/runtime/scratch.h"

namespace pace::daemon {

class JobPort {
  public:
    virtual ~JobPort() = default;

    // The worker's next request is looked at.
    virtual void advance(const WorkerPtr& worker) = 0;

    // A group of these nodes begins.
    virtual void group_begins(const std::vector<NodeId>& nodes) = 0;
    // Memory that rounds no longer need, or none.
    virtual Scratch round_memory() = 0;

    // How many rounds' results the worker's model has; none if a newcomer may not get the model
    // now.
    virtual std::optional<uint64_t> model_round(const Worker& worker) = 0;
    // The newcomer has got a model with the results of so many rounds.
    virtual void adopted(const Worker& newcomer, uint64_t round) = 0;
    // The worker has got no model, and takes part in no round.
    virtual void departed(const Worker& worker) = 0;

    // Memory for a copy of the model that a round of pace_broadcast brings; null: none is needed.
    virtual std::shared_ptr<Scratch> place_for_model(const std::vector<BufferPtr>& buffers) = 0;
    // The round has left its model in all members' buffers, and in `copy`, which is what
    // place_for_model() returned, or null.
    virtual void broadcasted(uint64_t round, const std::vector<BufferPtr>& buffers,
                             const std::shared_ptr<Scratch>& copy) = 0;
    // Calls `then` when server_report() is up to date, unless the job is over by then.
    virtual void before_server_report(const std::function<void()>& then) = 0;
    // What this node has of a parameter server's model; nothing in a job without one.
    virtual control::ServerReport server_report() = 0;
};

}  // namespace pace::daemon
