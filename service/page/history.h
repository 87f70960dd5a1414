// History: an hour of every job in bounded memory, with a point every five seconds. So a page that
// is opened now shows how a job has developed. Pure: no clock, no loop.
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
    uint64_t steps = 0;      // iterations, or rounds if no iterations are told
    bool is_present = true;  // neither left nor lost
    bool is_active = false;  // a member that computes
};

// What a status document says about a job.
struct JobSample {
    std::string name;
    uint64_t began_ns = 0;  // the job's run: another run of the same name begins anew
    std::vector<WorkerSteps> workers;
    // The median loss of the workers that have told a finite loss.
    std::optional<double> loss;
};

class History {
  public:
    static constexpr base::Duration kStep = std::chrono::seconds(5);
    static constexpr size_t kPointsMax = 720;  // points of a job: an hour
    static constexpr size_t kJobsMax = 64;

    // A point covers the time since the point before.
    struct Point {
        int64_t at_us = 0;
        uint64_t steps = 0;       // of the median worker
        float updates_per_s = 0;  // of all active workers together; NaN: not known
        float loss = 0;           // NaN: not told, or not finite
    };

    // Adds a point to each job. A sample that comes within a step after the job's last point adds
    // none. `at_us` is on the controller's monotonic clock. Jobs beyond kJobsMax displace jobs that
    // no longer exist, the longest gone first. If there are no such jobs, the new jobs are left
    // out.
    void add(int64_t at_us, const std::vector<JobSample>& jobs);

    // Returns the points after `since_us`, as columns. If `name` is empty, returns those of all
    // jobs, otherwise those of the jobs with this name. A job without such points is named as well.
    std::string json(int64_t since_us, const std::string& name) const;

    // The number of points of all jobs together.
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
    size_t left_out_ = 0;  // jobs of the last document that have no room
};

}  // namespace pace::page
