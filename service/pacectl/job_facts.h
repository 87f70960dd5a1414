// What a job and its workers are told to do, read from the status document of a controller of any age. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/pacectl/document.h"

namespace pace::pacectl {

// Null if there is none of that name.
const Json* find_job(const Json& status, std::string_view name);
// "there is no job 'x'; did you mean …", for people.
base::Error no_such_job(const Json& status, std::string_view name);

// "joining", "running" or "finished"; an older controller does not tell the last.
std::string job_state(const Json& job);
size_t worker_count(const Json& job);
// Whether a worker of the job has the field: an older controller's have not.
bool is_told(const Json& job, const char* key);

// Why a worker is slow; none if it is not.
struct Slow {
    double factor = 0;    // times the median step; 0 if it is not told
    double since_s = -1;  // below 0: not told
    std::string why;      // "computing", "link", "stopped", "waiting"
    std::string text;
};
std::optional<Slow> slow_of(const Json& worker);
std::string slow_text(const Slow& slow);

// "computing 3.2 s"; "-" where it is not told.
std::string activity_text(const Json& worker);

// Of what a worker or job has "waited", "exchanged" or "computed"; "-" where it is not told.
std::string total_text(const Json& of, std::string_view what);
std::string median_text(const Json& of, std::string_view what);

// How far it is: its iteration where it has told one, else the rounds that it has called.
uint64_t progress_of(const Json& worker);

}  // namespace pace::pacectl
