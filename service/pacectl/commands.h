// The commands of pacectl. Each gives the exit code: 0 done, 1 it failed (said on stderr), 2 wrong use.
#pragma once

#include <string>

#include "libclient/endpoint.h"
#include "libclient/job_options.h"

namespace pace::pacectl {

int show_status(const client::Endpoint& endpoint, bool json);
int show_daemon(const client::Endpoint& endpoint, bool json);
// Both, as Prometheus reads them.
int show_metrics(const client::Endpoint& endpoint);

int create_job(const client::Endpoint& endpoint, const protocol::AskedOptions& options);
// The table of policies and options; needs no daemon.
int list_options(bool json);
int delete_job(const client::Endpoint& endpoint, const std::string& name);
int list_jobs(const client::Endpoint& endpoint);
int show_job(const client::Endpoint& endpoint, const std::string& name);

// Shows the status again and again until q. Needs a terminal.
int run_top(const client::Endpoint& endpoint, double interval_s);

// The recent groups as a Chrome trace.
struct TraceOptions {
    std::string job;      // empty: of all jobs
    std::string output;   // a file; empty: standard output
    double follow_s = 0;  // goes on for so long, and takes what comes
};
int write_trace(const client::Endpoint& endpoint, const TraceOptions& options);

int run_doctor(const client::Endpoint& endpoint);

// Writes PREFIX.secret and PREFIX.public and prints the public key.
int generate_keys(const std::string& prefix);

}  // namespace pace::pacectl
