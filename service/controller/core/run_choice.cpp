#include "service/controller/core/run_choice.h"

#include "service/controller/core/job.h"

namespace pace::controller {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;

// The worker was in a run already.
Result<RunChoice> choose_known(const WorkerJoin& event, const Job& job) {
    const bool is_older = event.run.began < job.run().began;
    if (is_older && event.run.began > job.run_before() && event.resume && event.epoch > 0 &&
        !job.is_started()) {
        // The journal is lost, and somebody has opened anew before the first of the run was back.
        return RunChoice::names_it;
    }
    if (is_older && event.run.began <= job.run_before()) {
        return make_error(
            ErrorKind::closed,
            "this worker was in a run of job '{}' that is over: {} has begun under its "
            "name; open another session to take part in that one",
            job.options().name, text_of(job.run()));
    }
    // A run of which this controller has lost the journal's record.
    const bool is_newer = event.run.began > job.run().began && event.resume && event.epoch > 0;
    if (is_newer && !job.has_been_joined()) return RunChoice::names_it;
    if (is_newer && job.is_deserted()) return RunChoice::begins_another;
    return RunChoice::takes_part;
}

}  // namespace

Result<RunChoice> choose_run(const WorkerJoin& event, const Job& job) {
    if (event.run.began != 0 && job.run().began != 0) return choose_known(event, job);
    if (!job.has_been_joined()) return RunChoice::names_it;
    const bool is_deserted = job.is_deserted();
    if (event.run.id != job.run().id) {
        if (is_deserted) return RunChoice::begins_another;
        return make_error(
            ErrorKind::taken,
            "job '{}' is under way as {}, and this worker is of {}: stop that one, wait "
            "until its workers are gone, or choose another name",
            job.options().name, text_of(job.run()), text_of(event.run));
    }
    switch (event.rerun) {
        case Rerun::never:
            return RunChoice::takes_part;
        case Rerun::when_none_lives:
            return is_deserted ? RunChoice::begins_another : RunChoice::takes_part;
        case Rerun::when_all_died:
            return job.have_all_died() ? RunChoice::begins_another : RunChoice::takes_part;
    }
    return RunChoice::takes_part;
}

std::string text_of(const Run& run) {
    return run.id.empty() ? std::string("a run without an identity")
                          : fmt::format("run '{}'", run.id);
}

}  // namespace pace::controller
