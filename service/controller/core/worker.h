// Worker: one rank of a job, as the controller knows it.
#pragma once

#include <cstdint>
#include <optional>

#include "service/controller/core/counted_time.h"
#include "service/controller/core/recent_times.h"
#include "service/controller/core/types.h"

namespace pace::controller {

// absent -> joined -> member, when the job starts;
// absent -> newcomer -> admitted -> member, when the job was under way already;
// member -> suspended -> admitted, when it was late and comes back;
// any -> left or lost -> joined or newcomer, when the rank is taken again;
// missing: a member according to the journal whose daemon has not announced it again yet.
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
// Takes part in views, in groups and in what others wait for.
constexpr bool is_taking_part(WorkerState state) {
    return state == WorkerState::admitted || state == WorkerState::member;
}

struct Worker {
    WorkerState state = WorkerState::absent;
    bool wants_model = false;    // admitted, and its first request is to be answered with a model
    bool node_was_lost = false;  // it is lost, but its process may live
    // That was so when the job's last worker was lost, and it has not called since: the job waits.
    bool may_return = false;
    // Admitted, and told that it lacks rounds and that nobody can give it a model.
    bool accepts_own = false;
    uint64_t rounds = 0;  // whose results its model had when it joined
    NodeId node = 0;
    uint64_t iteration = 0;
    RecentTimes<9> steps;

    // Averaging: the exchange it is in (an index of Groups), and when it began to compute.
    static constexpr uint32_t kNoSlot = ~uint32_t{0};
    uint32_t slot = kNoSlot;
    std::optional<TimePoint> computing_since;
    bool expected = false;   // signalled as announced, and has not arrived yet
    RecentTimes<9> waiting;  // as in GroupStatistics, since it joined
    RecentTimes<9> exchanging;

    // From its daemon's heartbeats.
    uint64_t rounds_submitted = 0;
    uint64_t calls = 0;
    uint64_t busy_ms = 0;
    CountedTime computed;  // of its steps
    CountedTime waited;    // of its calls
    CountedTime exchanged;
    Activity activity = Activity::unknown;
    Duration active{};  // for so long when that was told: what has come since is not known
    std::optional<TimePoint> stopped_since;
    std::optional<double> loss;  // as its trainer told last
    double samples_per_s = 0;    // the same; 0: not told
};

}  // namespace pace::controller
