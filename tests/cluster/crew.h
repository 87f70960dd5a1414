// Crew: all workers of one job as sessions of the test's own process, each with one buffer of floats, so that a test says who
// calls when.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster.h"
#include "worker.h"

namespace pace::cluster {

class Crew {
  public:
    using Tune = std::function<void(AskedSession&)>;
    using Verb = std::function<pace_request(Worker&)>;

    struct Options {
        std::vector<size_t> nodes;  // by rank: the node that it is on
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

    // Begins a reduce of a gradient with this value in every element.
    pace_request call(size_t rank, double gradient);
    // The same, and waits for its end; gives what the buffer has then.
    double reduce(size_t rank, double gradient);
    // What the worker's buffer has, the same everywhere.
    double value(size_t rank) const;
    void set(size_t rank, double value);

    // Everyone that is there calls it, and waits for its end.
    void everyone(const Verb& verb);
    void barrier();

  private:
    Options options_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<float*> data_;
};

// Ranks over nodes in turn: 0, 1, 2, 0, 1, …
std::vector<size_t> in_turn(size_t world, size_t nodes);

// Options of a job whose rounds wait for that many workers.
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

// Long enough that a call which must not end would have; a test that is right does not depend on it.
inline constexpr int64_t kMomentMs = 20;

}  // namespace pace::cluster
