// ControlHandler: what the daemon does with what the controller says.
//
// All calls come on the loop's thread, from the link's poll(), never from within a send(). A
// handler may call the link's send() from any of them; it must not destroy the link.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/control/messages.h"

namespace pace::daemon {

class ControlHandler {
  public:
    virtual ~ControlHandler() = default;

    // The controller knows this daemon as `self`. Announce every worker again now (WorkerJoin with
    // `resume`) and everything soft: ready signals in particular. What was sent under an earlier
    // attachment may or may not have arrived.
    virtual void on_attached(control::NodeId self) = 0;

    // Until the next on_attached, sends are dropped; the link attaches again by itself. `excluded`:
    // the cluster has given this daemon up; every order, view and exchange of the old attachment is
    // void and must end now. Otherwise exchanges under way may go on.
    virtual void on_detached(bool excluded, const std::string& reason) = 0;

    // The controller does not want this daemon (another protocol version, its name is in use). Said
    // once per different error; the link asks again by itself, at least every second.
    virtual void on_refused(const base::Error& error) = 0;

    // The link has not been attached for so long, because of this; said again at growing intervals while it lasts.
    virtual void on_not_attached(const base::Error& because, base::Duration since) = 0;

    // What the next heartbeat says. `ret_heartbeat` comes empty.
    virtual void report(control::Heartbeat& ret_heartbeat) = 0;

    virtual void on_join_accepted(const control::JoinAccepted& accepted) = 0;
    virtual void on_join_refused(const control::JoinRefused& refused) = 0;
    virtual void on_prepare_view(const control::PrepareView& view) = 0;
    virtual void on_commit_view(const control::CommitView& view) = 0;
    virtual void on_group_order(const control::GroupOrder& order) = 0;
    virtual void on_server_order(const control::ServerOrder& order) = 0;
    virtual void on_checkpoint_ended(const control::CheckpointEnded& ended) = 0;
    virtual void on_job_ended(const control::JobEnded& ended) = 0;
    virtual void on_part_ended(const control::PartEnded& ended) = 0;
    virtual void on_group_abort(const control::GroupAbort& abort) = 0;
    virtual void on_worker_suspended(const control::WorkerSuspended& suspended) = 0;
    virtual void on_no_model(const control::NoModel& missing) = 0;
    virtual void on_job_deleted(const control::JobDeleted& deleted) = 0;
    virtual void on_worker_left(const control::WorkerLeft& left) = 0;
    virtual void on_withdrawn(const control::Withdrawn& withdrawn) = 0;
    virtual void on_node_gone(const control::NodeGone& gone) = 0;
    virtual void on_node_known(const control::NodeKnown& known) = 0;
    virtual void on_status_reply(const control::StatusReply& reply) = 0;
};

}  // namespace pace::daemon
