// ControllerLink: what the controller says.
#include <algorithm>

#include "daemon/control/controller_link_state.h"
#include "daemon/control/incoming.h"

namespace pace::daemon {

namespace wire = protocol::control;
using base::Duration;
using std::chrono::milliseconds;

namespace {

// A refused hello is said again at least so often.
constexpr Duration kHelloLastRefused = std::chrono::seconds(1);

}  // namespace

void ControllerLink::State::receive(std::span<const std::byte> bytes_untrusted) {
    ++counters.received;
    const auto verified = protocol::verify_envelope(bytes_untrusted);
    if (!verified) {
        ++counters.malformed;
        return;
    }
    const wire::Envelope& envelope = **verified;
    if (const auto* reply = envelope.body_as_StatusReply()) {
        reachable = true;
        on_status_reply(control::read(*reply));
        return;
    }
    if (phase == Phase::ended || envelope.attachment() != attachment) {
        ++counters.stale;
        return;
    }
    heard = base::now();
    reachable = true;
    if (const auto* attached = envelope.body_as_Attached())
        on_attached(*attached);
    else if (const auto* refused = envelope.body_as_Refused())
        on_refused(*refused);
    else if (phase == Phase::attached)
        on_attached_message(envelope);
    else
        ++counters.stale;
}

void ControllerLink::State::on_status_reply(control::StatusReply reply) {
    for (const uint64_t request : status.answered(reply.number)) {
        reply.request = request;
        handler.on_status_reply(reply);
    }
}

void ControllerLink::State::on_attached(const wire::Attached& table) {
    if (phase == Phase::attached) {
        doubt.answered(table.number());
        return;
    }
    if (table.node() == 0) {
        ++counters.malformed;
        return;
    }
    phase = Phase::attached;
    self = last_self = table.node();
    hello_pending = false;
    refusal.clear();
    refused_delay = {};
    obstacle.on_attached();
    heartbeat = milliseconds(std::clamp<uint32_t>(table.heartbeat_ms(), 1, 60'000));
    silence_min = milliseconds(std::min<uint32_t>(table.silence_min_ms(), 3'600'000));
    outgoing.set_attachment(self, attachment);
    ++counters.attachments;
    expect_heartbeat();
    handler.on_attached(self);
    // After what was said there, which is answered first.
    if (doubt.has_to_ask()) say_heartbeat();
}

void ControllerLink::State::on_refused(const wire::Refused& table) {
    if (phase != Phase::attaching) return;
    const base::Error error = control::read_error(table.kind(), table.message());
    hello_pending = false;
    refused_delay = std::clamp(refused_delay * 2, kHelloFirst, kHelloLastRefused);
    set_timer(refused_delay, &State::hello_is_due);
    const bool is_known = obstacle.is_refused() && error.message == refusal;
    obstacle.on_refused(error, base::now());
    if (is_known) return;
    refusal = error.message;
    handler.on_refused(error);
}

void ControllerLink::State::on_attached_message(const wire::Envelope& envelope) {
    if (envelope.body_type() == wire::Body::Probe) {
        // Any message proves that we live; a heartbeat is the one that is always right.
        say_heartbeat();
    } else if (const auto* table = envelope.body_as_NotAttached()) {
        const auto reason = protocol::text_of(table->reason(), protocol::kReasonBytesMax);
        detach(table->excluded(), std::string(reason));
    } else if (!control::deliver(envelope, handler, order)) {
        ++counters.malformed;
    }
}

}  // namespace pace::daemon
