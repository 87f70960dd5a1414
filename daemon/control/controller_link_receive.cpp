// ControllerLink, receiving: the controller's messages.
#include <algorithm>

#include "daemon/control/controller_link_state.h"
#include "protocol/version.h"

namespace pace::daemon {

namespace wire = protocol::control;
using base::Duration;
using std::chrono::milliseconds;

namespace {

// Maximum delay before a refused hello is repeated.
constexpr Duration kHelloLastRefused = std::chrono::seconds(1);

}  // namespace

template <typename Message, typename Table, typename Then>
void ControllerLink::State::with(const Table& table, const Then& then) {
    Message said;
    if (read(table, said))
        then(said);
    else
        ++counters.malformed;
}

void ControllerLink::State::receive(std::span<const std::byte> bytes_untrusted) {
    ++counters.received;
    const auto verified = protocol::verify_envelope(bytes_untrusted);
    if (!verified) {
        ++counters.malformed;
        return;
    }
    record(RecordKind::message_in, bytes_untrusted);
    const wire::Envelope& envelope = **verified;
    if (const auto* reply = envelope.body_as_StatusReply()) {
        reachable = true;
        on_status_reply(*reply);
        return;
    }
    if (phase == Phase::idle || envelope.attachment() != attachment) {
        ++counters.stale;
        return;
    }
    heard = base::now();
    reachable = true;
    if (const auto* attached = envelope.body_as_Attached())
        with<control::Attached>(*attached,
                                [this](const control::Attached& said) { on_attached(said); });
    else if (const auto* refused = envelope.body_as_Refused())
        with<control::Refused>(*refused,
                               [this](const control::Refused& said) { on_refused(said.error); });
    else if (phase == Phase::attached)
        on_attached_message(envelope);
    else
        ++counters.stale;
}

void ControllerLink::State::on_status_reply(const wire::StatusReply& table) {
    // A document may have megabytes, so it is read straight into the message for the handler.
    control::FromController told;
    auto& reply = told.emplace<control::StatusReply>();
    if (!read(table, reply)) {
        ++counters.malformed;
        return;
    }
    for (const uint64_t request : status.answered(reply.number)) {
        reply.request = request;
        handler->on_message(told);
    }
}

void ControllerLink::State::on_attached(const control::Attached& attached) {
    if (phase == Phase::attached) {
        doubt.answered(attached.number);
        clock.answered(attached.number, attached.clock_ns, base::now_ns());
        return;
    }
    if (attached.node == 0 || !protocol::Versions{}.contain(attached.version)) {
        ++counters.malformed;
        return;
    }
    phase = Phase::attached;
    self = last_self = attached.node;
    hello_pending = false;
    refusal.clear();
    refused_delay = {};
    obstacle.on_attached();
    heartbeat = milliseconds(std::clamp<uint32_t>(attached.heartbeat_ms, 1, 60'000));
    silence_min = milliseconds(std::min<uint32_t>(attached.silence_min_ms, 3'600'000));
    ++counters.attachments;
    expect_heartbeat();
    handler->on_attached(self);
    // After the handler's messages, which are answered first.
    if (doubt.has_to_ask()) say_heartbeat();
}

void ControllerLink::State::on_refused(const base::Error& error) {
    if (phase != Phase::attaching) return;
    hello_pending = false;
    refused_delay = std::clamp(refused_delay * 2, kHelloFirst, kHelloLastRefused);
    set_timer(refused_delay, &State::hello_is_due);
    const bool is_known = obstacle.is_refused() && error.message == refusal;
    obstacle.on_refused(error, base::now());
    if (is_known) return;
    refusal = error.message;
    handler->on_refused(error);
}

void ControllerLink::State::on_attached_message(const wire::Envelope& envelope) {
    if (envelope.body_type() == wire::Body::Probe) {
        // Any message would prove that this node lives; a heartbeat is always valid.
        say_heartbeat();
        return;
    }
    if (const auto* table = envelope.body_as_NotAttached()) {
        with<control::NotAttached>(*table, [this](const control::NotAttached& said) {
            detach(said.excluded, said.reason);
        });
        return;
    }
    if (const auto* reply = envelope.body_as_RecordingReply()) status.saw(reply->number());
    const auto is_read = read(envelope, message);
    if (is_read && *is_read)
        handler->on_message(message);
    else
        ++counters.malformed;
}

}  // namespace pace::daemon
