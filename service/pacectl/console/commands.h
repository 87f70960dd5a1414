// Commands: the commands of pacectl. Each returns the exit code (exit_code.h), and has reported
// errors on stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libclient/link/endpoint.h"
#include "libclient/options/job_options.h"

namespace pace::pacectl {

int show_status(const client::Endpoint& endpoint, bool json);
int show_daemon(const client::Endpoint& endpoint, bool json);
// Prints both documents in the format of Prometheus.
int show_metrics(const client::Endpoint& endpoint);

int create_job(const client::Endpoint& endpoint, const protocol::AskedOptions& options, bool json);
// Prints the table of policies and options; needs no daemon.
int list_options(bool json);
int delete_job(const client::Endpoint& endpoint, const std::string& name, bool json);
int list_jobs(const client::Endpoint& endpoint, bool json);
int show_job(const client::Endpoint& endpoint, const std::string& name, bool json);

// Shows the status repeatedly until q is pressed. Needs a terminal.
struct TopOptions {
    double interval_s = 1;
    std::string job;      // the job to show; empty: all
    char sort_key = 'r';  // a key of sort_keys() (top_state.h)
};
int run_top(const client::Endpoint& endpoint, const TopOptions& options);

// Prints a line for each change of the cluster, until a condition holds.
struct WatchOptions {
    std::string until;     // "finished", "started", "no-slow"; empty: forever
    std::string job;       // the job to watch; empty: all
    double timeout_s = 0;  // 0: none
    double interval_s = 0.5;
    bool json = false;
};
int run_watch(const client::Endpoint& endpoint, const WatchOptions& options);

// Prints the events that the controller has noted.
struct EventsOptions {
    std::optional<uint64_t> since;  // only greater numbers
    std::string job;                // the job whose events to show; empty: all
    bool follow = false;
    bool json = false;
};
int show_events(const client::Endpoint& endpoint, const EventsOptions& options);

// The recent groups of jobs that average in groups, and the calls of this node's workers in all
// other jobs, as a Chrome trace.
struct TraceOptions {
    std::string job;      // empty: of all jobs
    std::string output;   // a file; empty: standard output, unless there is `otlp`
    std::string otlp;     // the URL of an OpenTelemetry collector that gets the spans; empty: none
    double follow_s = 0;  // goes on for so long, and takes what comes
};
int write_trace(const client::Endpoint& endpoint, const TraceOptions& options);

struct DoctorOptions {
    std::string keys = "/etc/pace/keys";  // the folder of this machine's key files
    bool fix = false;                     // repairs owner, group and mode of key files
    bool json = false;
};
int run_doctor(const client::Endpoint& endpoint, const DoctorOptions& options);

// Writes PREFIX.secret and PREFIX.public and prints the public key.
struct KeygenOptions {
    std::string prefix;
    std::string owner;  // a user; empty: the caller
    std::string group;  // may read the secret key; empty: the owner's, which may not
    bool json = false;
};
int generate_keys(const KeygenOptions& options);

}  // namespace pace::pacectl
