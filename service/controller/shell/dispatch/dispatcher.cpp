#include "service/controller/shell/dispatch/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "base/log/controller_events.h"
#include "protocol/version.h"

namespace pace::controller {

namespace messages = protocol::messages;
namespace wire = protocol::control;

namespace {

// The sender in words, for a hello that may be refused.
std::string who(const wire::Hello& hello_untrusted) {
    const auto text = [](const flatbuffers::String* said) {
        return said == nullptr ? std::string() : said->str().substr(0, protocol::kNameBytesMax);
    };
    const std::string host = text(hello_untrusted.host());
    return fmt::format("node '{}'{}", text(hello_untrusted.name()),
                       host.empty() ? "" : " on host " + host);
}

// The protocol version for an accepted hello.
uint32_t version_with(const Hello& hello) {
    const auto theirs = protocol::told_versions(hello.version, hello.least);
    return protocol::common_version({}, theirs).value_or(protocol::kVersion);
}

}  // namespace

Dispatcher::Dispatcher(const Options& options, uint64_t (*make_token)(), Outlet& outlet,
                       const Rights& rights)
    : options_(options),
      core_(options.core, make_token),
      outlet_(outlet),
      rights_(rights),
      status_window_(make_token),
      recordings_(make_token) {}

base::Result<> Dispatcher::replay(std::span<const std::byte> record) {
    return core_.replay(record);
}

void Dispatcher::replay_finished(TimePoint now) {
    core_.replay_finished(now);
}

void Dispatcher::receive(std::string_view route, std::span<const std::byte> bytes_untrusted,
                         TimePoint now, std::string_view key) {
    ++counters_.received;
    if (rights_.refusal(key)) {
        ++counters_.without_right;
        return;
    }
    key_ = key;
    const auto verified = protocol::verify_envelope(bytes_untrusted);
    if (!verified) {
        ++counters_.malformed;
        return;
    }
    const wire::Envelope& envelope = **verified;
    if (const auto* request = envelope.body_as_StatusRequest()) {
        const bool answered = base::attempt([&] { answer_status(route, envelope, *request, now); });
        if (!answered) base::log_event(base::events::kStatusWithoutMemory);
        return;
    }
    if (base::attempt([&] { take(route, envelope, now); })) return;
    // Half-done work concerns the sender's node only, which attaches again and repeats everything.
    actions_.clear();
    arriving_.reset();
    const NodeId node = attachments_.find_route(route);
    base::log_event(base::events::kMessageWithoutMemory,
                    {{"number", node}, {"bytes", bytes_untrusted.size()}});
    if (node != 0) lose(node, "the controller had no memory for what it said", now);
}

void Dispatcher::take(std::string_view route, const wire::Envelope& envelope, TimePoint now) {
    const NodeId node = attachments_.check(envelope.node(), envelope.attachment(), route);
    if (envelope.body_type() == wire::Body::Hello)
        on_hello(route, envelope, now);
    else if (node == 0)
        on_stranger(route, envelope);
    else
        on_attached_message(node, envelope, now);
    lose_unreachable(now);
}

void Dispatcher::answer_status(std::string_view route, const wire::Envelope& envelope,
                               const wire::StatusRequest& request, TimePoint now) {
    const uint64_t number = status_window_.admit(route, request.seen(), now);
    if (number == 0) {
        ++counters_.unread;
        return;
    }
    answer(route, envelope, StatusReply{request.request(), outlet_.status_json(), number});
}

void Dispatcher::on_stranger(std::string_view route, const wire::Envelope& envelope) {
    ++counters_.unattached;
    const std::string* excluded =
        attachments_.excluded_because(envelope.node(), envelope.attachment());
    const char* const unknown =
        "the controller knows no such attachment; it may have been restarted";
    answer(route, envelope,
           NotAttached{excluded != nullptr, excluded != nullptr ? *excluded : unknown});
}

void Dispatcher::on_hello(std::string_view route, const wire::Envelope& envelope, TimePoint now) {
    auto hello = read_hello(*envelope.body_as_Hello());
    if (const auto refusal = refusal_of(hello, envelope.attachment(), now)) {
        ++counters_.refused;
        if (const uint64_t times = refusals_said_.is_due(refusal->message, now))
            outlet_.note({true,
                          "a daemon was refused",
                          fmt::format("{}: {} (times: {})", who(*envelope.body_as_Hello()),
                                      refusal->message, times),
                          {.node = hello ? hello->name : std::string()}});
        answer(route, envelope, Refused{*refusal});
        return;
    }

    const NodeId known = attachments_.find_name(hello->name);
    if (known != 0 && attachments_.check(known, envelope.attachment(), route) == known) {
        // The same hello again: our answer has not arrived yet.
        attachments_.heard(known, now);
        say_attached(known);
        return;
    }
    // A connection speaks for one node: the node that it spoke for before is lost.
    if (const NodeId before = attachments_.find_route(route); before != 0 && before != known)
        lose(before, "its daemon took another name", now);
    // The earlier attachment of this name gets no more messages; the core ends the node itself.
    attachments_.detach(known);
    arriving_ = Attachment{.route = std::string(route),
                           .number = envelope.attachment(),
                           .name = hello->name,
                           .host = hello->host,
                           .key = std::string(key_),
                           .generation = hello->generation,
                           .version = version_with(*hello),
                           .heard = now};
    apply(std::move(*hello), now);
    arriving_.reset();
}

// Why the daemon that sends this is not attached; nothing if it may be.
std::optional<base::Error> Dispatcher::refusal_of(const base::Result<Hello>& hello,
                                                  uint64_t attachment, TimePoint now) {
    if (!hello) return hello.error();
    if (attachment == 0)
        return base::make_error(base::ErrorKind::invalid,
                                "a hello needs an attachment number other than 0");
    if (auto refusal = rights_.refusal_of_name(key_, hello->name)) return refusal;
    return name_conflict(*hello, now);
}

// Why this daemon may not use its name; nothing if it may.
std::optional<base::Error> Dispatcher::name_conflict(const Hello& hello, TimePoint now) {
    const NodeId holder = attachments_.find_name(hello.name);
    if (holder == 0) {
        if (attachments_.seats() < options_.nodes_max) return std::nullopt;
        return base::make_error(base::ErrorKind::limit,
                                "this controller knows {} node names, the most it keeps; use "
                                "names again, or end the jobs of nodes that are gone",
                                options_.nodes_max);
    }
    const Attachment& held = *attachments_.find(holder);
    if (held.generation == hello.generation) return std::nullopt;
    if (now - held.heard > options_.name_held) return std::nullopt;
    // A daemon that was killed and restarted says hello before its silence is noticed. Its broken
    // connection distinguishes it from a living daemon of the same name.
    if (!outlet_.send(held.route, writer_.write(holder, held.number, Probe{}))) return std::nullopt;
    return base::make_error(base::ErrorKind::taken,
                            "the node name {} is in use by a daemon on host {}; give this daemon "
                            "another name, or stop that one",
                            hello.name, held.host.empty() ? "(unnamed)" : held.host);
}

void Dispatcher::on_attached_message(NodeId node, const wire::Envelope& envelope, TimePoint now) {
    if (take_recording(node, envelope, now)) return;
    auto event = read_event(envelope, node);
    if (!event) {
        attachments_.heard(node, now);
        apply(NodeHeard{node}, now);
        tell(node, JoinRefused{request_of(envelope).value_or(0), event.error()});
        return;
    }
    if (!*event) {
        ++counters_.malformed;
        return;
    }
    attachments_.heard(node, now);
    if (const auto* lost = std::get_if<NodeLost>(&**event)) {
        lose(node, lost->reason, now);
        return;
    }
    apply(NodeHeard{node}, now);
    auto refusal = refused_for_user(**event, node);
    if (!refusal) refusal = refused_for_disk(**event);
    if (refusal) {
        tell(node, JoinRefused{request_of(envelope).value_or(0), *refusal});
        return;
    }
    apply(**event, now);
    // Each heartbeat is answered, so that a daemon can tell a living controller from a dead one.
    const auto* heartbeat = std::get_if<From<Heartbeat>>(&**event);
    if (heartbeat != nullptr && attachments_.find(node) != nullptr)
        say_attached(node, heartbeat->number);
}

// Refuses to begin a job that would be forgotten. Workers of existing jobs come and go as before.
// A worker that its daemon announces again is of such a job, also where the journal that had the
// job is lost: the daemon tells of it as often as it is forgotten.
std::optional<base::Error> Dispatcher::refused_for_disk(const Event& event) const {
    const AskedOptions* options = nullptr;
    const auto* join = std::get_if<From<WorkerJoin>>(&event);
    if (join != nullptr && !join->resume) options = &join->options;
    if (const auto* create = std::get_if<From<JobCreate>>(&event)) options = &create->options;
    if (options == nullptr) return std::nullopt;
    auto failure = outlet_.journal_failure();
    if (!failure) return std::nullopt;
    if (core_.has_job(options->name)) return std::nullopt;
    failure->message =
        fmt::format("job {} cannot be created now: {}", options->name, failure->message);
    return failure;
}

void Dispatcher::tick(TimePoint now) {
    apply(Tick{}, now);
}

base::Result<> Dispatcher::set_draining(const std::string& node, bool draining, TimePoint now) {
    auto done = core_.set_draining(node, draining, now, actions_);
    deliver_actions();
    lose_unreachable(now);
    return done;
}

base::Result<> Dispatcher::delete_job(const std::string& name, TimePoint now) {
    auto done = core_.delete_job(name, now, actions_);
    deliver_actions();
    lose_unreachable(now);
    return done;
}

void Dispatcher::begin_anew(const std::string& reason, TimePoint now) {
    for (const NodeId node : attachments_.nodes()) {
        const Attachment& attachment = *attachments_.find(node);
        send(attachment.route, writer_.write(node, attachment.number, NotAttached{false, reason}));
    }
    attachments_ = Attachments{};
    core_.begin_anew(now);
}

void Dispatcher::apply(const Event& event, TimePoint now) {
    core_.handle(event, now, actions_);
    deliver_actions();
    lose_unreachable(now);
}

void Dispatcher::lose(NodeId node, std::string reason, TimePoint now) {
    attachments_.detach(node);
    apply(NodeLost{.node = node, .reason = std::move(reason)}, now);
}

// Losing a node produces actions, which may find other nodes unreachable. Each node is lost at most
// once.
void Dispatcher::lose_unreachable(TimePoint now) {
    while (!unreachable_.empty()) {
        const NodeId node = unreachable_.back();
        unreachable_.pop_back();
        core_.handle(NodeLost{node, "its connection is gone or does not drain"}, now, actions_);
        deliver_actions();
    }
}

void Dispatcher::deliver_actions() {
    for (Action& action : actions_) std::visit([this](auto& act) { deliver(act); }, action);
    actions_.clear();
}

// `heartbeat` is the number of the heartbeat that this message answers; 0: none.
void Dispatcher::say_attached(NodeId node, uint64_t heartbeat) {
    const auto least = options_.core.liveness_min / std::chrono::milliseconds(1);
    const Attachment* attachment = attachments_.find(node);
    tell(node, messages::Attached{.node = node,
                                  .heartbeat_ms = options_.heartbeat_ms,
                                  .number = heartbeat,
                                  .silence_min_ms = static_cast<uint32_t>(least),
                                  .version = attachment == nullptr ? 0 : attachment->version,
                                  .clock_ns = outlet_.clock_ns()});
}

void Dispatcher::deliver(const Attached& action) {
    if (!arriving_ || arriving_->name != action.name) return;
    attachments_.attach(action.node, std::move(*arriving_));
    arriving_.reset();
    say_attached(action.node);
}

void Dispatcher::deliver(const Excluded& action) {
    if (attachments_.find(action.node) == nullptr) return;
    tell(action.node, NotAttached{true, action.reason});
    attachments_.exclude(action.node, action.reason);
}

template <typename Message>
void Dispatcher::deliver(const To<Message>& action) {
    const Message& message = action;
    for (const NodeId node : action.to) tell(node, message);
    if (!action.to.empty()) return;
    if constexpr (requires { message.node; }) {
        for (const NodeId node : attachments_.nodes())
            if (node != message.node) tell(node, message);
    }
}

template <typename Message>
void Dispatcher::answer(std::string_view route, const wire::Envelope& envelope,
                        const Message& message) {
    send(route, writer_.write(envelope.node(), envelope.attachment(), message));
}

bool Dispatcher::send(std::string_view route, std::span<const std::byte> message) {
    const bool is_sent = outlet_.send(route, message);
    if (is_sent) ++counters_.sent;
    return is_sent;
}

}  // namespace pace::controller
