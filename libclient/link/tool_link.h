// ToolLink: a connection for tools, which joins no job. A ToolLink asks for documents, creates and
// deletes jobs, and drains nodes.
//
//    auto link = ToolLink::open(endpoint, std::chrono::seconds(2));
//    if (link) auto json = link->query("status");
//
// Threads: one thread at a time.
//
// Errors: the errors of greet(), `unavailable` if the daemon goes away or does not answer in time,
// `corrupt` if the daemon sends nonsense, and the errors that the daemon reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "libclient/link/endpoint.h"
#include "libclient/link/greeting.h"
#include "libclient/options/job_options.h"

namespace pace::client {

class ToolLink {
  public:
    // `timeout` bounds connecting and each later call. An absent daemon is reported at once.
    static base::Result<ToolLink> open(const Endpoint& endpoint, base::Duration timeout);

    const std::string& node() const { return greeting_.node; }
    const std::string& daemon_version() const { return greeting_.daemon_version; }
    uint64_t generation() const { return greeting_.generation; }

    // Returns the JSON document with the name `what`: "status", "daemon", "options" or "policies".
    // This method does not parse the document.
    base::Result<std::string> query(std::string_view what);

    // Returns a part of the recording of the node with this name: its records from number `from`
    // on.
    base::Result<std::string> recording_part(std::string_view node, uint64_t from);

    // Creates a job without workers. The daemon answers Done.
    base::Result<> create_job(const AskedOptions& options);

    // Ends a job that has no workers. Only the job's owner and root may end it. The daemon answers
    // Done.
    base::Result<> delete_job(std::string_view name);

    // Takes a node out of use, or puts it back if `undo` is set. Root and the daemon's own user may
    // do so. The daemon answers Done.
    base::Result<> drain_node(std::string_view name, bool undo);

  private:
    base::Result<std::string> receive_document(uint64_t request, base::TimePoint deadline);

    ToolLink(Greeting greeting, base::Duration timeout)
        : greeting_(std::move(greeting)), timeout_(timeout) {}

    Greeting greeting_;
    base::Duration timeout_;
    uint64_t next_request_ = 1;
};

}  // namespace pace::client
