// The commands of pacectl. Each gives the exit code (exit_code.h), and has said on stderr what went wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libclient/endpoint.h"
#include "libclient/job_options.h"

namespace pace::pacectl {

int show_status(const client::Endpoint& endpoint, bool json);
int show_daemon(const client::Endpoint& endpoint, bool json);
// Both, as Prometheus reads them.
int show_metrics(const client::Endpoint& endpoint);

int create_job(const client::Endpoint& endpoint, const protocol::AskedOptions& options, bool json);
// The table of policies and options; needs no daemon.
int list_options(bool json);
int delete_job(const client::Endpoint& endpoint, const std::string& name, bool json);
int list_jobs(const client::Endpoint& endpoint, bool json);
int show_job(const client::Endpoint& endpoint, const std::string& name, bool json);

// Shows the status again and again until q. Needs a terminal.
struct TopOptions {
    double interval_s = 1;
    std::string job;      // the one that is shown; empty: all
    char sort_key = 'r';  // as its keys: one of top_state.h
};
int run_top(const client::Endpoint& endpoint, const TopOptions& options);

// A line for each change of the cluster, until a condition holds.
struct WatchOptions {
    std::string until;     // "finished", "started", "no-slow"; empty: for ever
    std::string job;       // only this one; empty: all
    double timeout_s = 0;  // 0: none
    double interval_s = 0.5;
    bool json = false;
};
int run_watch(const client::Endpoint& endpoint, const WatchOptions& options);

// What the controller has noted.
struct EventsOptions {
    std::optional<uint64_t> since;  // only those with greater numbers
    std::string job;                // only this one's; empty: all
    bool follow = false;
    bool json = false;
};
int show_events(const client::Endpoint& endpoint, const EventsOptions& options);

// The recent groups as a Chrome trace.
struct TraceOptions {
    std::string job;      // empty: of all jobs
    std::string output;   // a file; empty: standard output
    double follow_s = 0;  // goes on for so long, and takes what comes
};
int write_trace(const client::Endpoint& endpoint, const TraceOptions& options);

struct DoctorOptions {
    std::string keys = "/etc/pace/keys";  // the folder of this machine's key files
    bool fix = false;                     // of key files: their owner, group and mode
    bool json = false;
};
int run_doctor(const client::Endpoint& endpoint, const DoctorOptions& options);

// Writes PREFIX.secret and PREFIX.public and prints the public key.
struct KeygenOptions {
    std::string prefix;
    std::string
        owner;  // a user; empty: as root the services' user if there is one, else who runs this
    std::string group;  // empty: the owner's
    bool json = false;
};
int generate_keys(const KeygenOptions& options);

}  // namespace pace::pacectl
