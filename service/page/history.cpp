#include "service/page/history.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pace::page {

namespace {

constexpr int64_t kStepUs =
    std::chrono::duration_cast<std::chrono::microseconds>(History::kStep).count();
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

uint64_t median_steps(const JobSample& sample) {
    std::vector<uint64_t> steps;
    for (const WorkerSteps& worker : sample.workers)
        if (worker.is_present) steps.push_back(worker.steps);
    if (steps.empty()) return 0;
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    return *middle;
}

std::unordered_map<uint32_t, uint64_t> active_steps(const JobSample& sample) {
    std::unordered_map<uint32_t, uint64_t> active;
    for (const WorkerSteps& worker : sample.workers)
        if (worker.is_active) active.emplace(worker.rank, worker.steps);
    return active;
}

// Only workers count that were active before. A new worker jumps to the others' step without having
// computed it.
uint64_t updates_between(const std::unordered_map<uint32_t, uint64_t>& before,
                         const std::unordered_map<uint32_t, uint64_t>& after) {
    uint64_t updates = 0;
    for (const auto& [rank, steps] : after) {
        const auto known = before.find(rank);
        if (known != before.end() && steps > known->second) updates += steps - known->second;
    }
    return updates;
}

// JSON has no representation of NaN and infinity.
void append_number(float number, std::string& json) {
    if (std::isfinite(number))
        fmt::format_to(std::back_inserter(json), "{:.5g}", number);
    else
        json += "null";
}

}  // namespace

void History::Job::push(const Point& point) {
    if (points.size() < kPointsMax) {
        points.push_back(point);
        return;
    }
    points[oldest] = point;
    oldest = (oldest + 1) % points.size();
}

// Returns null if there is no room.
History::Job* History::place_for(const JobSample& sample, int64_t at_us) {
    if (const auto known = jobs_.find(sample.name); known != jobs_.end()) {
        if (known->second.began_ns != sample.began_ns) known->second = Job();
        known->second.began_ns = sample.began_ns;
        return &known->second;
    }
    if (jobs_.size() >= kJobsMax) {
        const auto longest_gone =
            std::min_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
                return a.second.last().at_us < b.second.last().at_us;
            });
        // All jobs that exist now have a point that is younger than two steps.
        if (longest_gone->second.last().at_us > at_us - 2 * kStepUs) return nullptr;
        jobs_.erase(longest_gone);
    }
    Job& job = jobs_[sample.name];
    job.began_ns = sample.began_ns;
    return &job;
}

void History::add(int64_t at_us, const std::vector<JobSample>& jobs) {
    now_us_ = at_us;
    left_out_ = 0;
    for (const JobSample& sample : jobs) {
        Job* job = place_for(sample, at_us);
        if (job == nullptr) {
            ++left_out_;
            continue;
        }
        const bool is_first = job->points.empty();
        // A timer may fire a little early or late.
        if (!is_first && at_us - job->last().at_us < kStepUs / 2) continue;
        auto active = active_steps(sample);
        Point point{.at_us = at_us,
                    .steps = median_steps(sample),
                    .updates_per_s = kUnknown,
                    .loss = kUnknown};
        if (!is_first)
            point.updates_per_s =
                static_cast<float>(static_cast<double>(updates_between(job->active, active)) * 1e6 /
                                   static_cast<double>(at_us - job->last().at_us));
        if (sample.loss) point.loss = static_cast<float>(*sample.loss);
        job->push(point);
        job->active = std::move(active);
    }
}

size_t History::points() const {
    size_t points = 0;
    for (const auto& [name, job] : jobs_) points += job.points.size();
    return points;
}

void History::append(const std::string& name, const Job& job, int64_t since_us, std::string& json) {
    size_t first = 0;
    while (first < job.points.size() && job.at(first).at_us <= since_us) ++first;
    const auto column = [&](std::string_view key, const auto& append_field) {
        fmt::format_to(std::back_inserter(json), ",\"{}\":[", key);
        for (size_t i = first; i < job.points.size(); ++i) {
            if (i != first) json += ',';
            append_field(job.at(i));
        }
        json += ']';
    };
    using Json = nlohmann::json;
    fmt::format_to(std::back_inserter(json), "{{\"name\":{},\"began_ns\":{}",
                   Json(name).dump(-1, ' ', false, Json::error_handler_t::replace), job.began_ns);
    column("at_us", [&](const Point& point) {
        fmt::format_to(std::back_inserter(json), "{}", point.at_us);
    });
    column("steps", [&](const Point& point) {
        fmt::format_to(std::back_inserter(json), "{}", point.steps);
    });
    column("updates_per_s", [&](const Point& point) { append_number(point.updates_per_s, json); });
    column("loss", [&](const Point& point) { append_number(point.loss, json); });
    json += '}';
}

std::string History::json(int64_t since_us, const std::string& name) const {
    std::string json =
        fmt::format("{{\"clock_us\":{},\"step_s\":{},\"jobs_left_out\":{},\"jobs\":[", now_us_,
                    std::chrono::duration_cast<std::chrono::seconds>(kStep).count(), left_out_);
    bool is_first = true;
    for (const auto& [job_name, job] : jobs_) {
        if (!name.empty() && job_name != name) continue;
        if (!is_first) json += ',';
        is_first = false;
        append(job_name, job, since_us, json);
    }
    return json + "]}";
}

}  // namespace pace::page
