// Jobs: the table of jobs, and the rules for creating and joining them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "service/controller/core/jobs/ended_jobs.h"
#include "service/controller/core/jobs/job.h"
#include "service/controller/core/journal/journal_record.h"
#include "service/controller/core/nodes/cluster.h"
#include "service/controller/vocabulary/turn.h"

namespace pace::controller {

class Jobs {
  public:
    Jobs(Cluster& cluster, uint64_t (*make_token)()) : cluster_(cluster), make_token_(make_token) {}

    // Creates the job or refuses, and answers.
    void create(const From<JobCreate>& event, const Turn& turn);

    // Lets the worker join or refuses, and answers. Returns the job; null if refused.
    Job* join(const From<WorkerJoin>& event, const Turn& turn);

    // Ends a job without workers, or refuses, and answers.
    void remove(const From<JobDelete>& event, const Turn& turn);
    // Like the other remove(), without an answer. `uid` is the requester; none means the operator,
    // who may delete any job.
    base::Result<> remove(const std::string& name, std::optional<uint32_t> uid, const Turn& turn);

    Job* find(JobId id);
    bool has(const std::string& name) const { return ids_.contains(name); }
    const std::map<JobId, std::unique_ptr<Job>>& all() const { return jobs_; }

    // A node keeps data of a job. Tells the node that the data is obsolete, unless it is or may be
    // needed.
    void keep(const From<JobKept>& event, const Turn& turn);

    // Starts the controller's life. Unknown jobs of which nothing is heard for abandoned_keep count
    // as ended.
    void begin_life(TimePoint now) { life_began_ = now; }
    const EndedJobs& ended() const { return ended_; }
    // Takes over what another life of this controller knows.
    void remember(const EndedJobs& ended) { ended_ = ended; }

    // Two nodes lost their connection, though both may be alive. Work under way between them was
    // lost, and one end may not know.
    void link_lost(NodeId one, NodeId other, const Turn& turn);

    // Drops the job if it has ended.
    void sweep(Job& job, const Turn& turn);

    base::Result<> replay(const JournalRecord& record);

  private:
    Job* find(const std::string& name);
    base::Result<Job*> admission(const From<WorkerJoin>& event, const JobOptions& options,
                                 const Turn& turn);
    Job& add(JobId id, const JobOptions& options, uint32_t uid, uint64_t token);
    // `known_as_untrusted`: the id by which a daemon knows the job, which it gets if it is free; 0:
    // none.
    base::Result<Job*> create(const JobOptions& options, uint32_t uid, const Turn& turn,
                              JobId known_as_untrusted = 0);
    base::Result<> check_room(const JobOptions& options, uint32_t uid) const;
    base::Result<Job*> begin_run(const JobOptions& options, const From<WorkerJoin>& event,
                                 uint64_t before, const Turn& turn);
    base::Result<Job*> begin_another_run(const JobOptions& options, const From<WorkerJoin>& event,
                                         Job& job, const Turn& turn);
    static void name_run(Job& job, const From<WorkerJoin>& event, uint64_t before,
                         const Turn& turn);
    void end(Job& job, const char* event, const char* why, const Turn& turn);

    Cluster& cluster_;
    uint64_t (*make_token_)();
    std::map<JobId, std::unique_ptr<Job>> jobs_;
    std::unordered_map<std::string, JobId> ids_;
    JobId next_id_ = 1;
    EndedJobs ended_;
    std::optional<TimePoint> life_began_;
};

}  // namespace pace::controller
