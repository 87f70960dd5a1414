// RunChoice: whether a worker that joins takes part in the run of its job, or begins another one under its
// name.
//
// A run is known by what its workers say it is, if they do, and by when it began. A worker that was in
// one says when that began: its session, or its daemon, has kept it. One that opens anew does not.
#pragma once

#include "base/result.h"
#include "service/controller/core/types.h"

namespace pace::controller {

class Job;

enum class RunChoice {
    takes_part,  // in the run as it is
    names_it,    // the same, and the run is what the worker says: the job has had no worker yet, or
                 // its journal was lost
    begins_another,  // the job's run is over
};

// ErrorKind::closed: the worker's run is over. ErrorKind::taken: another run is under way. ErrorKind::no_controller: after this
// controller's restart nobody of the run is back yet, so that it is not known whether it goes on; the worker may ask again.
base::Result<RunChoice> choose_run(const From<WorkerJoin>& event, const Job& job, TimePoint now);

// For people.
std::string text_of(const Run& run);

}  // namespace pace::controller
