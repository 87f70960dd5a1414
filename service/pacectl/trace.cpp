#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>

#include "base/clock.h"
#include "service/pacectl/commands.h"
#include "service/pacectl/group_trace.h"
#include "service/pacectl/job_text.h"
#include "service/pacectl/output.h"
#include "service/pacectl/wakeups.h"

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
        if (job == nullptr)
            return make_error(ErrorKind::not_found,
                              "there is no job '{}'; `pacectl job list` shows all", name);
        if (!has_groups(*job))
            return make_error(ErrorKind::invalid,
                              "job '{}' averages in no groups, and only those are traced", name);
        return {};
    }
    const Json& jobs = list(status, "jobs");
    if (std::any_of(jobs.begin(), jobs.end(), has_groups)) return {};
    return make_error(ErrorKind::not_found, "no job averages in groups, and only those are traced");
}

// Looks again and again, until the time is over or a signal wishes the end. A daemon that is away
// is asked again.
Result<> follow(const client::Endpoint& endpoint, double follow_s, GroupTrace& trace) {
    PACE_TRY_ASSIGN(signals, watch_signals());
    PACE_TRY_ASSIGN(ticks, tick_every(std::min(kLookIntervalS, follow_s)));
    const auto until = base::now() + std::chrono::duration_cast<base::Duration>(
                                         std::chrono::duration<double>(follow_s));
    std::array<pollfd, 2> sources{pollfd{signals.get(), POLLIN, 0}, pollfd{ticks.get(), POLLIN, 0}};
    for (Wish wish = Wish::none; wish != Wish::end && base::now() < until;) {
        if (poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR)
            return base::make_errno_error(errno, "wait for a tick");
        wish = read_signals(signals.get());
        read_ticks(ticks.get());
        if (const auto status = fetch_document(endpoint, "status")) trace.add(*status);
    }
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
