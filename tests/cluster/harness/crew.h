// Crew: all workers of one job as sessions of the test's own process. Each worker has one buffer of
// floats. So a test decides which worker calls when.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {

class Crew {
  public:
    using Tune = std::function<void(AskedSession&)>;
    using Verb = std::function<pace_request(Worker&)>;

    struct Options {
        std::vector<size_t> nodes;  // the node of each rank
        Tune tune = {};
        uint64_t elements = 1000;
        int32_t op = PACE_OP_SUM;
        std::string job = "test";
    };

    Crew(const Cluster& cluster, Options options);

    uint32_t size() const { return static_cast<uint32_t>(workers_.size()); }
    Worker& worker(size_t rank) { return *workers_[rank]; }
    // Leaves the job in order.
    void leave(size_t rank) { workers_[rank].reset(); }

    // Begins a reduce of a gradient. Every element of the gradient has this value.
    pace_request call(size_t rank, double gradient);
    // Does the same, and waits for the end. Returns the value that the buffer then has.
    double reduce(size_t rank, double gradient);
    // Returns the value in the worker's buffer. All elements are equal.
    double value(size_t rank) const;
    void set(size_t rank, double value);

    // Every worker that is in the job makes this call, and waits for its end.
    void everyone(const Verb& verb);
    void barrier();

  private:
    Options options_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<float*> data_;
};

// Places ranks on nodes in turn: 0, 1, 2, 0, 1, …
std::vector<size_t> in_turn(size_t world, size_t nodes);

// Options of a job. The name tells how many workers its rounds wait for.
inline void solo(AskedSession& job) {
    job.set(PACE_OPT_QUORUM, "solo");
}
inline void majority(AskedSession& job) {
    job.set(PACE_OPT_QUORUM, "majority");
}
inline void majority_strict(AskedSession& job) {
    job.set(PACE_OPT_QUORUM, "majority-strict");
}
inline Crew::Tune quorum_of(uint32_t count) {
    return [count](AskedSession& job) {
        job.set(PACE_OPT_QUORUM, "count");
        job.set(PACE_OPT_QUORUM_COUNT, count);
    };
}

// The time is long enough for a call that must not end to end by mistake. A correct test does not
// depend on the time.
inline constexpr int64_t kMomentMs = 20;

}  // namespace pace::cluster
