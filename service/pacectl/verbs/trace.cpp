#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <vector>

#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/console/repeat.h"
#include "service/pacectl/facts/job_facts.h"
#include "service/pacectl/spans/call_trace.h"
#include "service/pacectl/spans/group_trace.h"
#include "service/pacectl/spans/otlp_export.h"
#include "service/pacectl/spans/span_events.h"

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// Between two looks at a cluster that is followed; the controller remembers the last groups of a
// job.
constexpr double kLookIntervalS = 0.5;
// Looks at the controller's document for each one at the recorder's, which is some megabytes.
constexpr uint64_t kLooksForRecorder = 4;

// The groups of jobs that average in groups, and the calls of all other jobs.
class TraceOfJobs {
  public:
    explicit TraceOfJobs(const TraceOptions& options) : job_(options.job), groups_(options.job) {}

    void add_status(const Json& status) { groups_.add(status); }
    Result<> add_recording(const Json& recording) { return calls_.add(recording); }

    Result<> check_not_empty() const;
    Result<> check_one_clock() const;
    std::vector<Span> spans() const;
    Json chrome() const;
    std::string summary() const;
    bool has_calls() const { return calls() > 0; }
    int64_t to_unix_us() const { return calls_.to_unix_us(); }

  private:
    CallTrace::Wanted wants_calls() const {
        return [this](const std::string& job) {
            return (job_.empty() || job == job_) && !groups_.has_job(job);
        };
    }
    size_t calls() const { return calls_.calls(wants_calls()); }

    std::string job_;
    GroupTrace groups_;
    CallTrace calls_;
};

Result<> TraceOfJobs::check_not_empty() const {
    if (!groups_.ordered().empty() || calls() > 0) return {};
    if (job_.empty())
        return make_error(ErrorKind::not_found,
                          "no job averages in groups, and node '{}' has recorded no call of others",
                          calls_.node());
    return make_error(ErrorKind::not_found,
                      "job '{}' averages in no groups, and node '{}' has recorded no call of it; "
                      "ask a node where its workers are",
                      job_, calls_.node());
}

// Groups have times of the controller's clock, calls of the node's.
Result<> TraceOfJobs::check_one_clock() const {
    if (calls_.is_on_controllers_clock() || groups_.groups() == 0) return {};
    return make_error(ErrorKind::aborted,
                      "node '{}' does not know the controller's clock yet, by which groups are "
                      "told; try again in some seconds",
                      calls_.node());
}

std::vector<Span> TraceOfJobs::spans() const {
    std::vector<Span> spans = groups_.spans();
    std::vector<Span> calls = calls_.spans(wants_calls());
    std::move(calls.begin(), calls.end(), std::back_inserter(spans));
    return spans;
}

Json TraceOfJobs::chrome() const {
    const char* clock = calls_.is_on_controllers_clock() ? "the controller's" : "the node's";
    return {{"displayTimeUnit", "ms"},
            {"otherData",
             {{"groups", groups_.groups()},
              {"groups_ordered", groups_.ordered()},
              {"calls", calls()},
              {"calls_of_node", calls_.node()},
              {"clock_of_calls", clock},
              {"rows_missed", calls_.missed()}}},
            {"traceEvents", span_events(spans())}};
}

std::string TraceOfJobs::summary() const {
    return fmt::format("{} groups, {} calls", groups_.groups(), calls());
}

Result<> add_recorder(const client::Endpoint& endpoint, TraceOfJobs& trace) {
    PACE_TRY_ASSIGN(recording, fetch_document(endpoint, "recorder"));
    return trace.add_recording(recording);
}

Result<> begin(const client::Endpoint& endpoint, const TraceOptions& options, TraceOfJobs& trace) {
    PACE_TRY_ASSIGN(status, fetch_document(endpoint, "status"));
    trace.add_status(status);
    PACE_TRY(add_recorder(endpoint, trace));
    // A job that is over may be known to the recorder alone.
    if (!options.job.empty() && find_job(status, options.job) == nullptr && !trace.has_calls())
        return no_such_job(status, options.job);
    return {};
}

// A daemon that is away is asked again.
Result<> follow(const client::Endpoint& endpoint, double follow_s, TraceOfJobs& trace) {
    uint64_t looks = 0;
    const auto look = [&] {
        if (const auto status = fetch_document(endpoint, "status")) trace.add_status(*status);
        if (++looks % kLooksForRecorder == 0) static_cast<void>(add_recorder(endpoint, trace));
        return false;
    };
    PACE_TRY(repeat(std::min(kLookIntervalS, follow_s), follow_s, look));
    static_cast<void>(add_recorder(endpoint, trace));
    return {};
}

Result<> write_file(const std::string& path, const TraceOfJobs& trace) {
    std::ofstream file(path);
    file << json_line(trace.chrome());
    file.close();
    if (!file) return base::make_errno_error(errno, "write the trace to " + path);
    return {};
}

// Standard output has the trace where it goes nowhere else.
int write_out(const TraceOptions& options, const TraceOfJobs& trace) {
    if (options.output.empty() && options.otlp.empty()) return print(json_line(trace.chrome()));
    if (!options.output.empty()) {
        if (const auto written = write_file(options.output, trace); !written)
            return say_error(written.error());
        const int code = print(fmt::format("{}: {}; open it at https://ui.perfetto.dev\n",
                                           options.output, trace.summary()));
        if (code != 0 || options.otlp.empty()) return code;
    }
    if (const auto one_clock = trace.check_one_clock(); !one_clock)
        return say_error(one_clock.error());
    return export_spans(options.otlp, trace.spans(), trace.to_unix_us());
}

}  // namespace

int write_trace(const client::Endpoint& endpoint, const TraceOptions& options) {
    TraceOfJobs trace(options);
    if (const auto begun = begin(endpoint, options, trace); !begun) return say_error(begun.error());
    if (options.follow_s > 0) {
        if (const auto followed = follow(endpoint, options.follow_s, trace); !followed)
            return say_error(followed.error());
    }
    if (const auto filled = trace.check_not_empty(); !filled) return say_error(filled.error());
    return write_out(options, trace);
}

}  // namespace pace::pacectl
