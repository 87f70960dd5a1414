// What a controller, or whoever pretends to be one, may say to a daemon: each envelope is read as an attached daemon reads it.
#include "daemon/control/incoming.h"
#include "tests/fuzz/chunks.h"

namespace {

namespace control = pace::daemon::control;

// Looks at the last of whatever there are several of.
class Listener final : public pace::daemon::ControlHandler {
  public:
    uint64_t seen = 0;

    void on_attached(control::NodeId) override {}
    void on_detached(bool, const std::string&) override {}
    void on_refused(const pace::base::Error&) override {}
    void on_not_attached(const pace::base::Error&, pace::base::Duration) override {}
    void report(control::Heartbeat&) override {}
    void on_join_accepted(const control::JoinAccepted& accepted) override {
        seen += accepted.options.name.size() + accepted.options.edges.size();
    }
    void on_join_refused(const control::JoinRefused& refused) override {
        seen += refused.error.message.size();
    }
    void on_prepare_view(const control::PrepareView& view) override { seen += view.epoch; }
    void on_commit_view(const control::CommitView& view) override {
        if (!view.members.empty()) seen += view.members.back().rank;
        if (!view.adoptions.empty()) seen += view.adoptions.back().donor;
        if (!view.behind.empty()) seen += view.behind.back();
        if (!view.missed.empty()) look(view.missed.back());
    }
    void on_group_order(const control::GroupOrder& order) override {
        if (!order.members.empty()) seen += order.members.back().iteration;
    }
    void on_server_order(const control::ServerOrder& order) override {
        if (!order.entries.empty()) look(order.entries.back());
    }
    void on_checkpoint_ended(const control::CheckpointEnded& ended) override {
        seen += ended.failure.size() + ended.answers.size();
    }
    void on_job_ended(const control::JobEnded& ended) override { seen += ended.token; }
    void on_part_ended(const control::PartEnded& ended) override { seen += ended.token; }
    void on_group_abort(const control::GroupAbort& abort) override { seen += abort.reason.size(); }
    void on_worker_suspended(const control::WorkerSuspended& suspended) override {
        seen += suspended.reason.size();
    }
    void on_no_model(const control::NoModel& missing) override { seen += missing.job; }
    void on_job_deleted(const control::JobDeleted& deleted) override { seen += deleted.request; }
    void on_worker_left(const control::WorkerLeft& left) override { seen += left.request; }
    void on_withdrawn(const control::Withdrawn& withdrawn) override { seen += withdrawn.rank; }
    void on_node_gone(const control::NodeGone& gone) override { seen += gone.reason.size(); }
    void on_node_known(const control::NodeKnown& known) override {
        seen += known.name.size() + known.address.size();
    }
    void on_status_reply(const control::StatusReply& reply) override { seen += reply.json.size(); }

  private:
    void look(const control::ServerEntry& entry) {
        seen += entry.position + entry.expired.size() + entry.worker.rank;
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Listener daemon;
    control::GroupOrder order;
    for (const auto& chunk : pace::fuzz::chunks_of(pace::fuzz::bytes_of(data, size))) {
        const auto envelope = pace::protocol::verify_envelope(chunk);
        if (!envelope) continue;
        (void)control::deliver(**envelope, daemon, order);
        if (const auto* reply = (*envelope)->body_as_StatusReply())
            daemon.on_status_reply(control::read(*reply));
    }
    return 0;
}
