// JobTable: the jobs that this node knows, by name and by the controller's number.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/attempt.h"
#include "base/loop/event_loop.h"
#include "daemon/control/messages.h"
#include "daemon/jobs/job.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

class JobTable {
  public:
    using ByName = std::map<std::string, std::shared_ptr<Job>>;

    explicit JobTable(Services& services) : services_(services) {}

    const ByName& all() const { return by_name_; }
    // Null if there is no such job.
    std::shared_ptr<Job> find(control::JobId id) const;
    // Null unless the job has this token and no worker here.
    std::shared_ptr<Job> find_unused(control::JobId id, uint64_t token) const;
    // Runs `work` on the job; false if there is no such job. If there is no memory for `work`, only
    // this job ends what it has under way.
    template <typename Work>
    bool with(control::JobId id, const Work& work) const {
        const std::shared_ptr<Job> found = find(id);
        if (!found) return false;
        if (!base::attempt([&] { work(*found); })) found->run_out_of_memory();
        return true;
    }

    // The job in which the controller has accepted a worker. It is made if this node does not know
    // it. Another run under the same name is over, and its workers here are told so: unless this
    // node has announced the worker again, which then goes on in the run that the controller names.
    std::shared_ptr<Job> take_up(const control::JoinAccepted& accepted,
                                 const control::JobOptions& options, uint32_t uid,
                                 bool announced_again = false);

    // Forgets jobs without workers here whose time is over, now, or when it is.
    void drop_unused();
    void drop_unused_later();

  private:
    void end_run(Job& job, const control::Run& next);
    void remember(control::JobId id, const JobState& state);

    Services& services_;
    ByName by_name_;
    std::unordered_map<control::JobId, std::shared_ptr<Job>> by_id_;
    base::Timer timer_;
};

}  // namespace pace::daemon
