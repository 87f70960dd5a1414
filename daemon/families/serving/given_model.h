// GivenModel: the model that a round of pace_broadcast leaves in all members' buffers. This node
// gives it to the shards, and tells the controller, whose order says when it becomes the model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/families/serving/shards/server_mail.h"
#include "daemon/families/serving/shards/shard_host.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class GivenModel {
  public:
    GivenModel(JobState& job, ShardHost& host, ServerMail& mail)
        : job_(job), host_(host), mail_(mail) {}

    // Whether buffers like these are a whole model.
    bool is_model(const std::vector<BufferPtr>& buffers) const;
    // Memory for a copy of the model; null: this node needs no copy, or has no room.
    std::shared_ptr<Scratch> place() const;
    // Whether this node can give the model. Without `copy`, it makes one, if that is little.
    base::Result<> has_room(const std::shared_ptr<Scratch>& copy) const;
    // Gives the model to the shards here, and to those of nodes without a worker.
    base::Result<> give(uint64_t round, const std::vector<BufferPtr>& buffers,
                        const std::shared_ptr<Scratch>& copy);
    // Tells the controller that the round is to become the model, unless the order has said so.
    void assign(uint64_t round);

    // The order says that the round is the model.
    void assigned(uint64_t round);
    // A view has committed. The controller may be another one, which has not heard of the round.
    void tell_again() const;
    // What this node would tell has been said by others, or means an earlier model.
    void keep_silent() { assigning_.reset(); }
    // The view names another model.
    void begin_anew();

  private:
    bool gives(uint32_t shard) const;
    bool gives_any() const;
    server::Floats part_of(uint32_t shard, const std::vector<BufferPtr>& buffers,
                           const std::shared_ptr<Scratch>& copy) const;
    void send(uint32_t shard, uint64_t round, const server::Floats& model);

    JobState& job_;
    ShardHost& host_;
    ServerMail& mail_;
    // A round that is to become the model, until the order says so.
    std::optional<uint64_t> assigning_;
    // The last round that is the model, by the order, which may be ahead of this node's own part of
    // that round.
    std::optional<uint64_t> assigned_;
};

}  // namespace pace::daemon
