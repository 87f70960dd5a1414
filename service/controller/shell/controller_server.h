// ControllerServer: the controller on an event loop: socket, clock and journal around the pure
// core.
//
// It runs in its own process (`pace-controller`) or on a daemon's loop. In a daemon it is bound to
// inproc:// in a context that the daemon's ControllerLink shares; the messages are the same. It
// belongs to the loop's thread and never blocks the loop: the journal has a writer thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "service/controller/shell/settings/controller_config.h"
#include "service/controller/zmq/context.h"

namespace pace::controller {

class ControllerServer final : private base::Poller {
  public:
    // Locks and reads the journal, then listens. `context` may be null unless an endpoint is
    // inproc. Errors: invalid or denied for a bad configuration; taken if another controller has
    // the journal or the port; corrupt if the file is not a Pace journal; disk if the file cannot
    // be opened.
    static base::Result<std::unique_ptr<ControllerServer>> create(
        base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context,
        const ControllerConfig& config);
    ~ControllerServer() override;
    ControllerServer(const ControllerServer&) = delete;
    ControllerServer& operator=(const ControllerServer&) = delete;

    // The endpoints with the actual ports, in the order of ControllerConfig::listen.
    const std::vector<std::string>& endpoints() const;

    // The whole state as JSON, the content of StatusReply.
    std::string status_json() const;
    // The "events" with numbers greater than `since`, and "events_first".
    std::string events_json(uint64_t since) const;

    // Operator commands: set_draining takes a node out of use or puts it back; delete_job ends a
    // job without workers. The caller has verified that the request comes from an operator. Call on
    // the loop's thread. Errors: not_found; taken if workers are in the job.
    base::Result<> set_draining(const std::string& node, bool draining);
    base::Result<> delete_job(const std::string& name);

    // One line for the service manager: attached nodes, jobs, the state of the journal.
    std::string status_line() const;

    // Why the controller accepts no new jobs now, in one line; nothing if it accepts them.
    std::optional<std::string> obstacle() const;

    struct Counters {
        uint64_t received = 0;
        uint64_t sent = 0;
        uint64_t malformed = 0;      // failed verification, or not allowed from a daemon
        uint64_t unattached = 0;     // answered with NotAttached
        uint64_t refused = 0;        // hellos refused
        uint64_t undeliverable = 0;  // for a node whose connection was gone or full
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
