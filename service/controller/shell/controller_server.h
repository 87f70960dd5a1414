// ControllerServer: the controller as a guest of an event loop: socket, clock and journal around
// the pure core.
//
// It runs in a process of its own (`pace-controller`) or on a daemon's loop, bound to inproc:// in
// a context that the daemon's ControllerLink shares; the messages are the same. It belongs to the
// loop's thread and never blocks it: the journal is written by a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/result.h"
#include "service/controller/shell/controller_config.h"
#include "service/controller/shell/zmq/context.h"

namespace pace::controller {

class ControllerServer final : private base::Poller {
  public:
    // Locks and reads the journal, then listens. `context` may be null unless an endpoint is
    // inproc. Fails with invalid or denied on a bad configuration, taken if another controller has
    // the journal or the port, corrupt if the file is no journal of ours, disk if it cannot be
    // opened.
    static base::Result<std::unique_ptr<ControllerServer>> create(
        base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context,
        const ControllerConfig& config);
    ~ControllerServer() override;
    ControllerServer(const ControllerServer&) = delete;
    ControllerServer& operator=(const ControllerServer&) = delete;

    // Where it listens, ports filled in, in the order of ControllerConfig::listen.
    const std::vector<std::string>& endpoints() const;

    // The whole state as JSON, as StatusReply carries it.
    std::string status_json() const;
    // Of its "events" those with numbers greater than `since`, and "events_first".
    std::string events_json(uint64_t since) const;

    // An operator takes a node out of use, or puts it back; ends a job that no worker is in. Whoever calls has seen to it that it is one. The
    // loop's thread.  Errors: not_found; taken, if workers are in the job.
    base::Result<> set_draining(const std::string& node, bool draining);
    base::Result<> delete_job(const std::string& name);

    // One sentence for the service manager: attached nodes, jobs, the journal's health.
    std::string status_line() const;

    // Why it accepts no new jobs now, in one line; nothing if it does.
    std::optional<std::string> obstacle() const;

    struct Counters {
        uint64_t received = 0;
        uint64_t sent = 0;
        uint64_t malformed = 0;      // did not verify, or carried what no daemon may say
        uint64_t unattached = 0;     // answered with NotAttached
        uint64_t refused = 0;        // hellos refused
        uint64_t undeliverable = 0;  // messages for a node whose connection was gone or full
    };
    Counters counters() const;

  private:
    struct State;
    explicit ControllerServer(std::unique_ptr<State> state);

    bool poll() override;
    bool arm() override;

    std::unique_ptr<State> state_;
};

}  // namespace pace::controller
