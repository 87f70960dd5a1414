// ToolLink: a connection for tools, which joins no job: asks for documents, creates and deletes jobs, drains nodes.
//
//     auto link = ToolLink::open(endpoint, std::chrono::seconds(2));
//     if (link) auto json = link->query("status");
//
// Threads: one at a time.  Errors: as greet(), `unavailable` if the daemon goes away or does not
// answer in time, `corrupt` if it sends nonsense, and what the daemon says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "libclient/endpoint.h"
#include "libclient/greeting.h"
#include "libclient/job_options.h"

namespace pace::client {

class ToolLink {
  public:
    // `timeout` bounds connecting, and each later call. An absent daemon is told at once.
    static base::Result<ToolLink> open(const Endpoint& endpoint, base::Duration timeout);

    const std::string& node() const { return greeting_.node; }
    const std::string& daemon_version() const { return greeting_.daemon_version; }
    uint64_t generation() const { return greeting_.generation; }

    // The JSON document called `what`: "status", "daemon", "options" or "policies". Not parsed here.
    base::Result<std::string> query(std::string_view what);

    // Creates a job without workers. The daemon answers Done.
    base::Result<> create_job(const AskedOptions& options);

    // Ends a job that no worker is in. Only its owner may, and root. The daemon answers Done.
    base::Result<> delete_job(std::string_view name);

    // Takes a node out of use, or with `undo` puts it back. Root may, and the daemon's own user. The daemon answers Done.
    base::Result<> drain_node(std::string_view name, bool undo);

  private:
    ToolLink(Greeting greeting, base::Duration timeout)
        : greeting_(std::move(greeting)), timeout_(timeout) {}

    Greeting greeting_;
    base::Duration timeout_;
    uint64_t next_request_ = 1;
};

}  // namespace pace::client
