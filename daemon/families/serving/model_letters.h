// ModelLetters: the letters between this node and others about the shards of a model. What becomes
// of those that have come, and what is done if they do not come.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/repeated.h"
#include "base/result.h"
#include "daemon/families/serving/letter_roles.h"
#include "daemon/families/serving/pulls.h"
#include "daemon/families/serving/pushes.h"
#include "daemon/families/serving/shards/saving.h"
#include "daemon/families/serving/shards/server_mail.h"
#include "daemon/families/serving/shards/shard_host.h"
#include "daemon/kernels/strand.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class ModelLetters {
  public:
    class Owner {
      public:
        virtual ~Owner() = default;
        // A shard holds an update of the worker: there may be room for another one.
        virtual void update_held(const WorkerPtr& worker) = 0;
        // This node's part of the model is of no use.
        virtual void part_failed(const base::Error& error) = 0;
        // There is no room for something that a shard here needs.
        virtual void has_no_room(const base::Error& error) = 0;
    };

    ModelLetters(JobState& job, ShardHost& host, ServerMail& mail, Pushes& pushes, Pulls& pulls,
                 Saving& saving, Owner& owner)
        : job_(job),
          host_(host),
          mail_(mail),
          pushes_(pushes),
          pulls_(pulls),
          saving_(saving),
          owner_(owner),
          roles_(job, host),
          reading_(job.services.aside()) {}

    // A view has committed, which begins at this position of the order.
    void begin_view(uint64_t position) { view_position_ = position; }
    // A shard here has a part of the model for a worker.
    void deliver(ShardHost::Part part);
    // The order has come to a pull: its parts are due.
    void expect_parts(const control::ServerEntry& entry);

    // As ServerMail says of Admits, Received and Refused. A letter that its sender may not send, or
    // that makes no sense, is dropped, counted and logged.
    ServerMail::Admission admit(NodeId from, const server::Letter& letter);
    void received(NodeId from, const server::Letter& letter, Parcel parcel);
    void refused(NodeId from, const server::Letter& letter, const base::Error& error);

    // Called a few times a second. Asks for another view if letters do not come: in that view, all
    // nodes say again what has not been answered. Returns the nodes that this node has long waited
    // for.
    std::vector<NodeId> look_for_late(base::TimePoint now);

  private:
    base::Result<> take(NodeId from, const server::Letter& letter, Parcel parcel);
    base::Result<> take_for_shard(NodeId from, const server::Letter& letter, Parcel parcel);
    void read_update(NodeId from, const server::Letter& letter, Parcel parcel);
    void makes_no_sense(NodeId from, const base::Error& error);
    void want_view(const std::string& reason, base::Duration silent);
    void hold(NodeId from, const server::Letter& letter, server::Shard::Update update);

    JobState& job_;
    ShardHost& host_;
    ServerMail& mail_;
    Pushes& pushes_;
    Pulls& pulls_;
    Saving& saving_;
    Owner& owner_;
    LetterRoles roles_;
    base::Repeated nonsense_;  // by node
    uint64_t view_position_ = 0;
    std::optional<base::TimePoint> awaits_model_since_;
    kernels::Strand reading_;  // updates that have come from other nodes
};

}  // namespace pace::daemon
