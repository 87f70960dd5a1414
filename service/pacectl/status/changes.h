// changes: the differences between two status documents, and whether a condition holds. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

struct Change {
    std::string what;  // "job", "worker", "slow", "node"
    std::string job;   // empty: not about a job
    std::optional<uint64_t> rank;
    std::string node;
    std::string from;  // empty: it is new
    std::string to;    // "gone": it has disappeared
    std::string text;  // detail for people; may be empty
};

// Returns the content of the first document (`before` is null), and the changes of later ones:
// states of jobs, status of workers and nodes, and which workers are slow. The first document gives
// only the workers that are not active. Covers the job, or all jobs if `job` is empty.
std::vector<Change> changes_between(const Json& before, const Json& after, const std::string& job);

// Whether "finished", "started" or "no-slow" holds for the job, or for all jobs, of which there
// must be at least one. A job that has disappeared is finished if the earlier document `before` has
// it, or if the controller has noted its end.
bool holds(const std::string& condition, const Json& before, const Json& status,
           const std::string& job);

std::string change_line(const Change& change);
Json change_json(const Change& change);

}  // namespace pace::pacectl
