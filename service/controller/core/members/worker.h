// Worker: one rank of a job, as the controller knows it.
#pragma once

#include <cstdint>
#include <optional>

#include "service/controller/core/members/counted_time.h"
#include "service/controller/core/members/recent_times.h"
#include "service/controller/core/members/training_steps.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// absent -> joined -> member: when the job starts;
// absent -> newcomer -> admitted -> member: when the job was already under way;
// member -> suspended -> admitted: when the worker was late and comes back;
// any -> left or lost -> joined or newcomer: when the rank is taken again;
// missing: a member in the journal whose daemon has not announced it again yet.
enum class WorkerState : uint8_t {
    absent,
    joined,
    newcomer,
    admitted,
    member,
    suspended,
    missing,
    left,
    lost,
};

// A live worker has a daemon that speaks for it.
constexpr bool is_live(WorkerState state) {
    return state >= WorkerState::joined && state <= WorkerState::suspended;
}
// The worker takes part in views and groups, and others may wait for it.
constexpr bool is_taking_part(WorkerState state) {
    return state == WorkerState::admitted || state == WorkerState::member;
}

// What top-k keeps back of the gradients of a worker, or of a node: then its first worker has it.
struct KeptResidual {
    uint64_t bytes = 0;      // of memory: four for each element; 0: nothing is kept back
    uint64_t exchanges = 0;  // since it was last empty
};

struct Worker {
    WorkerState state = WorkerState::absent;
    bool wants_model = false;    // admitted, and its first request needs a model
    bool node_was_lost = false;  // the worker is lost, but its process may live
    // The worker was lost in this way when the job lost its last worker, and has not called since.
    // The job waits for it.
    bool may_return = false;
    // Admitted after being told that it lacks rounds and that nobody can give it a model.
    bool accepts_own = false;
    uint64_t rounds = 0;  // with results in its model when it joined
    // The epoch of the last view that its daemon knew when it joined; 0 if that is not known. None
    // if it was opened since it last took part, or is a member again.
    std::optional<uint64_t> came_from;
    NodeId node = 0;
    uint64_t iteration = 0;
    RecentTimes<9> steps;

    // Averaging: the worker's exchange (an index of Groups), and when it began to compute.
    static constexpr uint32_t kNoSlot = ~uint32_t{0};
    uint32_t slot = kNoSlot;
    std::optional<TimePoint> computing_since;
    bool expected = false;   // signalled as announced, but not arrived yet
    RecentTimes<9> waiting;  // as in GroupStatistics, since it joined
    RecentTimes<9> exchanging;

    // From the daemon's heartbeats.
    uint64_t rounds_submitted = 0;
    uint64_t calls = 0;
    uint64_t busy_ms = 0;
    CountedTime computed;  // by steps
    CountedTime waited;    // by calls
    CountedTime exchanged;
    Activity activity = Activity::unknown;
    Duration active{};  // duration when reported; later time is unknown
    std::optional<TimePoint> stopped_since;
    std::optional<double> loss;  // as its trainer told last
    double samples_per_s = 0;    // the same; 0: not told
    TrainingSteps training;
    std::optional<KeptResidual> residual;  // none: its daemon tells none
};

}  // namespace pace::controller
