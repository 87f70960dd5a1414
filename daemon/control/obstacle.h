// Obstacle: why this daemon is not attached to its controller, in words for its operator.
//
// The sources are the events of the connections, the controller's refusals, and, if there are no
// events, a probe of its own.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/repeated.h"
#include "base/result.h"
#include "daemon/control/controller_link_config.h"
#include "daemon/control/reach_probe.h"
#include "service/controller/zmq/monitor.h"

namespace pace::daemon::control {

class Obstacle {
  public:
    // How long an attachment may take before a complaint.
    static constexpr base::Duration kPatience = std::chrono::seconds(2);

    // `config` must outlive this object.
    explicit Obstacle(const ControllerLinkConfig& config) : config_(config) {}

    // The daemon is not attached from now on.
    void begin(base::TimePoint now);
    void on_event(const control_zmq::ConnectionEvent& event, base::TimePoint now);
    // The controller has refused, and the handler has been told so. The refusal is the reason until
    // the next event of the connection.
    void on_refused(const base::Error& refusal, base::TimePoint now);
    bool is_refused() const { return refusal_.has_value(); }
    void on_attached() { refusal_.reset(); }

    // Whether the last connection failed in the handshake; ZeroMQ may not try again then.
    bool is_turned_away() const;

    struct Complaint {
        base::Error because;
        base::Duration since{};
    };
    // Returns the complaint due now, if any; an unchanged one is due at growing intervals. Called
    // several times a second while the daemon is not attached.
    std::optional<Complaint> look(base::TimePoint now);

    // Why the daemon is not attached, as far as known by now; none while there is nothing to
    // report.
    std::optional<base::Error> problem(base::TimePoint now) const;

  private:
    bool never_connects(base::TimePoint now) const;
    base::Error reason() const;
    std::string words() const;
    std::string words_of_an_end() const;
    std::string words_of_keys(control_zmq::ConnectionEvent::Kind kind) const;

    const ControllerLinkConfig& config_;
    base::TimePoint since_{};
    std::optional<base::Error> refusal_;
    std::optional<control_zmq::ConnectionEvent::Kind> outcome_;  // of the last connection
    base::TimePoint outcome_at_{};
    base::TimePoint probed_at_{};
    base::Repeated repeated_;
    ReachProbe probe_;
};

}  // namespace pace::daemon::control
