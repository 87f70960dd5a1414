// RunChoice: whether a joining worker takes part in the present run of its job, or begins another
// run of this name.
//
// A run is identified by the id that its workers give, if any, and by when it began. A worker that
// was in a run tells when this run began: its session or its daemon has kept the time. A newly
// opened session does not tell.
#pragma once

#include "base/result.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class Job;

enum class RunChoice {
    takes_part,  // in the present run
    // In the present run, which gets the worker's identity: the job has had no worker yet, or its
    // journal was lost.
    names_it,
    begins_another,  // the present run is over
};

// Errors: closed if the worker's run is over. taken if another run is under way. no_controller if,
// after this controller's restart, nobody of the run is back yet. Then it is unknown whether the
// run continues, and the worker may ask again.
base::Result<RunChoice> choose_run(const From<WorkerJoin>& event, const Job& job, TimePoint now);

// For people.
std::string text_of(const Run& run);

}  // namespace pace::controller
