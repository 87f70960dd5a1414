// History: an hour of every job in bounded memory: a point every five seconds, so that a page that is opened now shows how a
// job came to where it is. Pure: no clock, no loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace pace::page {

struct WorkerSteps {
    uint32_t rank = 0;
    uint64_t steps = 0;      // iterations, or rounds where none are told
    bool is_present = true;  // neither left nor lost
    bool is_active = false;  // a member that computes
};

// What a status document says of a job.
struct JobSample {
    std::string name;
    uint64_t began_ns = 0;  // its run: another one under the same name begins anew
    std::vector<WorkerSteps> workers;
    std::optional<double> loss;  // of the median worker, of those that have told a finite one
};

class History {
  public:
    static constexpr base::Duration kStep = std::chrono::seconds(5);
    static constexpr size_t kPointsMax = 720;  // of a job: an hour
    static constexpr size_t kJobsMax = 64;

    // Of the time since the point before.
    struct Point {
        int64_t at_us = 0;
        uint64_t steps = 0;       // of the median worker
        float updates_per_s = 0;  // of all active workers together; NaN: not known
        float loss = 0;           // NaN: not told, or not finite
    };

    // What comes within a step after the last point of a job adds none; `at_us` is on the controller's monotonic clock. Jobs beyond
    // kJobsMax displace those that are not there any more, the longest gone first, and are left out while there are none.
    void add(int64_t at_us, const std::vector<JobSample>& jobs);

    // The points after `since_us`, as columns, of the jobs with `name`, or of all where it is empty. Jobs without such points are
    // named as well.
    std::string json(int64_t since_us, const std::string& name) const;

    // Of all jobs together.
    size_t points() const;

  private:
    struct Job {
        uint64_t began_ns = 0;
        std::unordered_map<uint32_t, uint64_t> active;  // steps by rank, at the last point
        std::vector<Point> points;                      // a ring once it is full
        size_t oldest = 0;
        const Point& at(size_t i) const { return points[(oldest + i) % points.size()]; }
        const Point& last() const { return at(points.size() - 1); }
        void push(const Point& point);
    };
    Job* place_for(const JobSample& sample, int64_t at_us);
    static void append(const std::string& name, const Job& job, int64_t since_us,
                       std::string& json);

    std::unordered_map<std::string, Job> jobs_;
    int64_t now_us_ = 0;
    size_t left_out_ = 0;  // jobs of the last document for which there is no room
};

}  // namespace pace::page
