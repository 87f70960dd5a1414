// changes: what differs between two looks at the cluster, and whether a condition holds. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/pacectl/document.h"

namespace pace::pacectl {

struct Change {
    std::string what;  // "job", "worker", "slow", "node"
    std::string job;   // empty: it is about no job
    std::optional<uint64_t> rank;
    std::string node;
    std::string from;  // empty: it was not there before
    std::string to;    // "gone": it is there no more
    std::string text;  // more for people; may be empty
};

// What the first look shows (`before` is null), and what later ones change: states of jobs, status of workers (of the
// first look only who is not active) and nodes, and who is slow. Of one job, or of all if `job` is empty.
std::vector<Change> changes_between(const Json& before, const Json& after, const std::string& job);

// "finished", "started" or "no-slow" of the job, or of all, of which there must be one. A job that is there no more has
// finished if `before`, an earlier look, has it, or the controller has noted its end.
bool holds(const std::string& condition, const Json& before, const Json& status,
           const std::string& job);

std::string change_line(const Change& change);
Json change_json(const Change& change);

}  // namespace pace::pacectl
