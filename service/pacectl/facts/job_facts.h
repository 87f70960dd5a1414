// Job facts: facts on a job and its workers, from the status document of a controller of any age.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// Null if there is no job of this name.
const Json* find_job(const Json& status, std::string_view name);
// "there is no job 'x'; did you mean …", for people.
base::Error no_such_job(const Json& status, std::string_view name);

// "joining", "running" or "finished". An older controller does not report "finished".
std::string job_state(const Json& job);
size_t worker_count(const Json& job);
// Whether any worker of the job has the field; workers of an older controller do not.
bool is_told(const Json& job, const char* key);

// Why a worker is slow; none if the worker is not slow.
struct Slow {
    double factor = 0;    // times the median step; 0 if not reported
    double since_s = -1;  // below 0: not reported
    std::string why;      // "computing", "link", "stopped", "waiting"
    std::string text;
};
std::optional<Slow> slow_of(const Json& worker);
std::string slow_text(const Slow& slow);

// "computing 3.2 s"; "-" if not reported.
std::string activity_text(const Json& worker);

// `of` is a worker or job, `what` is "waited", "exchanged" or "computed"; "-" if not reported.
std::string total_text(const Json& of, std::string_view what);
std::string median_text(const Json& of, std::string_view what);

// The worker's progress: its iteration if it has reported one, otherwise its rounds submitted.
uint64_t progress_of(const Json& worker);

}  // namespace pace::pacectl
