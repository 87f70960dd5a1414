#include "service/controller/core/jobs/run_choice.h"

#include "service/controller/core/jobs/job.h"

namespace pace::controller {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;

// Chooses for a worker that was already in a run.
Result<RunChoice> choose_known(const From<WorkerJoin>& event, const Job& job) {
    const bool is_older = event.run.began < job.run().began;
    if (is_older && event.run.began > job.run_before() && event.resume && event.epoch > 0 &&
        !job.is_started()) {
        // The journal is lost, and a new session opened before the first worker of the run was
        // back.
        return RunChoice::names_it;
    }
    if (is_older && event.run.began <= job.run_before()) {
        return make_error(
            ErrorKind::closed,
            "this worker was in a run of job '{}' that is over: {} has begun under its "
            "name; open another session to take part in that one",
            job.options().name, text_of(job.run()));
    }
    // The worker's run, whose journal record this controller has lost.
    const bool is_newer = event.run.began > job.run().began && event.resume && event.epoch > 0;
    if (is_newer && job.roster().seen() == 0) return RunChoice::names_it;
    if (is_newer && job.roster().live() == 0) return RunChoice::begins_another;
    return RunChoice::takes_part;
}

base::Error another_is_under_way(const From<WorkerJoin>& event, const Job& job) {
    const std::string& name = job.options().name;
    if (job.roster().live() > 0)
        return make_error(
            ErrorKind::taken,
            "job '{}' is under way as {}, and this worker is of {}: stop that one, wait "
            "until its workers are gone, or choose another name",
            name, text_of(job.run()), text_of(event.run));
    return make_error(ErrorKind::taken,
                      "job '{}' was under way as {} when the controller was restarted, and this "
                      "worker is of {}: wait some seconds, in which workers of that one may come "
                      "back, or end it now with `pacectl job delete {}`",
                      name, text_of(job.run()), text_of(event.run), name);
}

base::Error not_known_yet(const Job& job) {
    const std::string& name = job.options().name;
    return make_error(ErrorKind::no_controller,
                      "job '{}' was under way when the controller was restarted, and none of its "
                      "workers is back yet: wait some seconds, after which they are given up and "
                      "another run may begin, or end the old one now with `pacectl job delete {}`",
                      name, name);
}

}  // namespace

Result<RunChoice> choose_run(const From<WorkerJoin>& event, const Job& job, TimePoint now) {
    if (event.run.began != 0 && job.run().began != 0) return choose_known(event, job);
    if (job.roster().seen() == 0) return RunChoice::names_it;
    const bool is_deserted = job.attendance().is_deserted(now);
    if (event.run.id != job.run().id) {
        if (is_deserted) return RunChoice::begins_another;
        return another_is_under_way(event, job);
    }
    if (event.rerun == Rerun::never || event.resume) return RunChoice::takes_part;
    // A rerun would be mistaken for workers that continue, and would train alone if they do not.
    if (job.attendance().awaits_return(now)) return not_known_yet(job);
    const bool is_over =
        event.rerun == Rerun::when_none_lives ? is_deserted : job.attendance().have_all_died(now);
    return is_over ? RunChoice::begins_another : RunChoice::takes_part;
}

std::string text_of(const Run& run) {
    return run.id.empty() ? std::string("a run without an identity")
                          : fmt::format("run '{}'", run.id);
}

}  // namespace pace::controller
