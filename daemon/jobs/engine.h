// Engine: the entry of all jobs of this node. Sessions join, submit and leave here. The
// controller's messages arrive here.
//
// One engine per daemon, on the event loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "daemon/control/control_handler.h"
#include "daemon/exchange/links.h"
#include "daemon/exchange/peer_watch.h"
#include "daemon/exchange/progress_watch.h"
#include "daemon/families/serving/shards/shard_disk.h"
#include "daemon/jobs/job.h"
#include "daemon/jobs/job_table.h"
#include "daemon/jobs/questions.h"
#include "daemon/jobs/retained_buffers.h"
#include "daemon/runtime/machine.h"

namespace pace::daemon {

struct JoinRequest {
    control::Rank rank = 0;
    control::AskedOptions options;
    uint32_t uid = 0;
    // The session had this place before and has lost its daemon; its trainer goes on where it was.
    bool again = false;
    // How far the worker says it had come with a daemon that is gone.
    uint64_t iteration_untrusted = 0;
    uint64_t rounds_untrusted = 0;
    control::Run run;  // without `began`, unless the worker was in that run already
    control::Rerun rerun = control::Rerun::when_all_died;
};

// A worker's place in a job, as the session holds it.
struct Seat {
    std::shared_ptr<Job> job;
    WorkerPtr worker;
    bool under_way = false;
    bool deserted = false;
};

// What a worker tells without asking for anything (protocol::is_note).
struct Note {
    protocol::Verb verb = protocol::Verb::announce;
    uint64_t request = 0;  // ready: the request's id
    uint64_t number = 0;   // announce: the iteration; ready: elements
};

class Engine final : public ControlHandler {
  public:
    explicit Engine(Services& services);
    ~Engine() override;

    using Joined = std::function<void(base::Result<Seat>)>;
    using Answered = std::function<void(base::Result<std::string>)>;

    // Asks the controller for a place. `joined` is called once, not from inside this call. Returns
    // a ticket for forget().
    uint64_t join(const JoinRequest& request, WorkerPort* port, const Joined& joined);
    // Creates a job without workers. `answered` gets an empty string.
    uint64_t create_job(const control::AskedOptions& options, uint32_t uid,
                        const Answered& answered);
    // Deletes a job without workers, if the user owns it or is root. `answered` gets an empty
    // string.
    uint64_t delete_job(const std::string& name, uint32_t uid, const Answered& answered);
    // Takes a node out of use, or with `undo` puts it back. The caller has checked that the user
    // may. `answered` gets an empty string.
    uint64_t drain_node(const std::string& name, bool undo, const Answered& answered);
    // The controller's status document.
    uint64_t status(const Answered& answered);
    // A part of the recording of the node with this name: its records from number `from` on.
    uint64_t recording(const std::string& node, uint64_t from, const Answered& answered);
    // The asker is gone; if the controller still grants a place, it is given back.
    void forget(uint64_t ticket);

    void submit(const Seat& seat, Request request);
    void cancel(const Seat& seat, uint64_t id);
    // Takes a note that needs no answer: the worker will average with this iteration next, on
    // buffers like those of its latest average; or it will not after all; or this many elements of
    // a request's buffers are ready.
    static void note(const Seat& seat, const Note& note);
    // An orderly leave. `left` is called once, not from inside this call, when the rank is free, or
    // if there is no controller that could say so.
    uint64_t leave(const Seat& seat, const std::function<void()>& left);
    // The worker's trainer died. `buffers` are kept for its successor.
    void died(const Seat& seat, std::vector<BufferPtr> buffers);
    // Whether the request's buffers may stay on their GPU until its exchange finds that they must
    // not.
    static bool sums_on_device(const Seat& seat, const Request& request) {
        return seat.job->sums_on_device(*seat.worker, request);
    }

    // A retained buffer of this type and length that fits, of a dead trainer of the same user, job
    // and rank; null if there is none.
    BufferPtr inherit(const Seat& seat, protocol::DType dtype, uint64_t count,
                      const device::Device* device,
                      const RetainedBuffers::Fits& fits = RetainedBuffers::fits_all);
    // Charges a buffer, or a block of several, to the user. If there is no room, retained buffers
    // of dead trainers are released: those of this user, and those of others if all users together
    // have too much.
    base::Result<Charge> charge_buffer(uint32_t user, const Amount& amount);

    // Called by the transport.
    void peer_lost(transports::PeerId peer, const base::Error& error);

    // A callback had no memory, and its job is not known: every job ends what it has under way.
    void run_out_of_memory();

    // Ends everything; afterwards no exchange is under way. Blocks for at most a second, until the
    // transport lets go.
    void shut_down();

    size_t jobs() const { return jobs_.all().size(); }

    // Records what a client has seen of a worker: the end of a call, its death, that it is stopped.
    void record(Record record, const Seat& seat) const;
    // Calls that have waited for long, and what they wait for.
    struct JobWait {
        std::string job;
        Wait wait;
    };
    std::vector<JobWait> waits() const;
    // A shard of a parameter server's model that this node keeps.
    struct ShardSummary {
        std::string job;
        uint32_t shard = 0;
        size_t elements = 0;
        size_t live_versions = 0;
        server::Shard::Memory memory;
    };
    std::vector<ShardSummary> shards() const;

    void on_attached(control::NodeId self) override;
    void on_detached(bool excluded, const std::string& reason) override;
    void on_refused(const base::Error& error) override;
    void on_not_attached(const base::Error& because, base::Duration since) override;
    void report(control::Heartbeat& ret_heartbeat) override;
    void on_message(const control::FromController& message) override {
        std::visit([this](const auto& said) { on(said); }, message);
    }
    void on(const control::JoinAccepted& accepted);
    void on(const control::JoinRefused& refused);
    void on(const control::PrepareView& view);
    void on(const control::CommitView& view);
    void on(const control::GroupOrder& order);
    void on(const control::ServerOrder& order);
    void on(const control::CheckpointEnded& ended);
    void on(const control::JobEnded& ended);
    void on(const control::PartEnded& ended);
    void on(const control::GroupAbort& abort);
    void on(const control::WorkerSuspended& suspended);
    void on(const control::NoModel& missing);
    void on(const control::JobDeleted& deleted);
    void on(const control::NodeDrained& drained);
    void on(const control::WorkerLeft& left);
    void on(const control::Withdrawn& withdrawn);
    void on(const control::NodeGone& gone);
    void on(const control::NodeKnown& known);
    void on(const control::StatusReply& reply);
    void on(const control::RecordingWanted& wanted);
    void on(const control::RecordingReply& reply);

  private:
    uint64_t ask(uint64_t ticket, Questions::Question question);
    static uint64_t reached(const JoinRequest& request, uint64_t kept);
    void seat(const JoinRequest& request, WorkerPort* port, const control::JoinAccepted& accepted,
              const control::JobOptions& options, const Joined& joined);
    // `checked` is called before this returns, unless a disk has to be asked.
    void check_job(const control::AskedOptions& asked, uint32_t uid,
                   const ShardDisk::Checked& checked);
    void announce(const std::shared_ptr<Job>& job, const WorkerPtr& worker);
    void remove(const Seat& seat);
    bool tell_leave(const Job& job, control::Rank rank, bool orderly, uint64_t request = 0);
    void tell_kept(const Job& job);
    void tell_retained();
    void end_active(control::JobId id, const base::Error& error);
    static RetainedBuffers::Key key_of(const Seat& seat);
    void drop_expired_buffers();
    bool give_up_kept(uint32_t user, uint64_t bytes);
    void forget_unnamed_peers();
    void tell_cut(NodeId node, bool cut, base::Duration silent);
    void tell_lost(NodeId node, const std::string& reason);
    void tell_waits();
    void tell_waits_later();

    Services& services_;
    JobTable jobs_;
    Questions questions_;
    RetainedBuffers retained_;
    base::Timer sweeping_;
    Links links_;
    PeerWatch peer_watch_;
    ProgressWatch progress_watch_;
    Machine machine_;
    base::Timer waits_timer_;
    base::Timer naming_timer_;
    base::Scope scope_;
};

}  // namespace pace::daemon
