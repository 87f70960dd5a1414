#include <string>
#include <utility>

#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/exit_code.h"
#include "service/pacectl/console/local_time.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/console/repeat.h"
#include "service/pacectl/status/changes.h"

namespace pace::pacectl {

namespace {

// Polls the cluster and prints what has changed since the last poll.
class Watch {
  public:
    Watch(const client::Endpoint& endpoint, const WatchOptions& options)
        : endpoint_(endpoint), options_(options) {}

    // True if the watch is over: the condition holds, or nobody reads the output.
    bool look() {
        auto status = fetch_document(endpoint_, "status");
        if (!status) {
            tell_absence(status.error());
            return code_ != kDone;
        }
        tell_return();
        for (const Change& change : changes_between(before_, *status, options_.job)) tell(change);
        tell_unknown_job(*status);
        is_met_ = !options_.until.empty() && holds(options_.until, before_, *status, options_.job);
        before_ = std::move(*status);
        return is_met_ || code_ != kDone;
    }

    bool is_met() const { return is_met_; }
    // The exit code of printing.
    int code() const { return code_; }

  private:
    void tell(const Change& change) {
        const uint64_t now_ms = unix_ms_now();
        if (options_.json) {
            Json json = change_json(change);
            json["at_unix_ms"] = now_ms;
            code_ = print(json_line(json));
        } else {
            code_ = print(fmt::format("{}  {}\n", local_time_text(now_ms), change_line(change)));
        }
    }

    // The first poll must succeed, so that a user who names the wrong daemon need not wait.
    void tell_absence(const base::Error& error) {
        if (before_.is_null()) {
            code_ = say_error(error);
        } else if (failure_ != error.message) {
            say(error.message + "; asking again");
        }
        failure_ = error.message;
    }

    void tell_return() {
        if (!failure_.empty()) say("the cluster answers again");
        failure_.clear();
    }

    void tell_unknown_job(const Json& status) {
        if (!before_.is_null() || options_.job.empty()) return;
        const Json& jobs = list(status, "jobs");
        for (const Json& job : jobs) {
            if (text(job, "name") == options_.job) return;
        }
        say(fmt::format("there is no job '{}' yet; waiting for it", options_.job));
    }

    const client::Endpoint& endpoint_;
    const WatchOptions& options_;
    Json before_;
    std::string failure_;
    bool is_met_ = false;
    int code_ = kDone;
};

}  // namespace

int run_watch(const client::Endpoint& endpoint, const WatchOptions& options) {
    Watch watch(endpoint, options);
    const auto ended = repeat(options.interval_s, options.timeout_s, [&] { return watch.look(); });
    if (!ended) return say_error(ended.error());
    if (watch.code() != kDone) return watch.code();
    if (options.until.empty() || watch.is_met()) return kDone;
    if (*ended == Ended::time_over)
        say(fmt::format("after {} s '{}' does not hold", options.timeout_s, options.until));
    return kNo;
}

}  // namespace pace::pacectl
