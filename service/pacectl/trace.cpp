#include <algorithm>
#include <cerrno>
#include <fstream>

#include "service/pacectl/commands.h"
#include "service/pacectl/group_trace.h"
#include "service/pacectl/job_facts.h"
#include "service/pacectl/output.h"
#include "service/pacectl/repeat.h"

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// Between two looks at a cluster that is followed; the controller remembers the last
// groups of a job.
constexpr double kLookIntervalS = 0.5;

bool has_groups(const Json& job) {
    return member(job, "recent_groups").is_array();
}

// Whether there is anything to trace.
Result<> check_traceable(const Json& status, const std::string& name) {
    if (!name.empty()) {
        const Json* job = find_job(status, name);
        if (job == nullptr) return no_such_job(status, name);
        if (!has_groups(*job))
            return make_error(ErrorKind::invalid,
                              "job '{}' averages in no groups, and only those are traced", name);
        return {};
    }
    const Json& jobs = list(status, "jobs");
    if (std::any_of(jobs.begin(), jobs.end(), has_groups)) return {};
    return make_error(ErrorKind::not_found, "no job averages in groups, and only those are traced");
}

// A daemon that is away is asked again.
Result<> follow(const client::Endpoint& endpoint, double follow_s, GroupTrace& trace) {
    PACE_TRY(repeat(std::min(kLookIntervalS, follow_s), follow_s, [&] {
        if (const auto status = fetch_document(endpoint, "status")) trace.add(*status);
        return false;
    }));
    return {};
}

int write_out(const TraceOptions& options, const GroupTrace& trace) {
    const std::string written = trace.chrome().dump(-1, ' ', true, Json::error_handler_t::replace);
    if (options.output.empty()) return print(written + "\n");
    std::ofstream file(options.output);
    file << written << '\n';
    file.close();
    if (!file)
        return say_error(base::make_errno_error(errno, "write the trace to " + options.output));
    return print(fmt::format("{}: {} groups; open it at https://ui.perfetto.dev\n", options.output,
                             trace.groups()));
}

}  // namespace

int write_trace(const client::Endpoint& endpoint, const TraceOptions& options) {
    const auto status = fetch_document(endpoint, "status");
    if (!status) return say_error(status.error());
    if (const auto traceable = check_traceable(*status, options.job); !traceable)
        return say_error(traceable.error());
    GroupTrace trace(options.job);
    trace.add(*status);
    if (options.follow_s > 0) {
        if (const auto followed = follow(endpoint, options.follow_s, trace); !followed)
            return say_error(followed.error());
    }
    return write_out(options, trace);
}

}  // namespace pace::pacectl
