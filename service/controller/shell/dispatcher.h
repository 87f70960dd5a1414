// Dispatcher: the control plane's manners around the core.
//
// It decides who may speak (hello, attachment, version, name), turns what they say into the core's
// events, and the core's actions into messages to whoever is attached. It touches no socket and no
// clock: bytes and the time come in, bytes go to the Outlet, so that hostile bytes can be tried on
// it by the million.
//
// A message that could not be sent is never forgiven: the node's daemon and the core would disagree
// from then on. The node is lost instead, and its daemon, if it lives, says hello again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/repeated.h"
#include "protocol/control_codec.h"
#include "service/controller/core/core.h"
#include "service/controller/shell/attachments.h"
#include "service/controller/shell/message_reader.h"
#include "service/controller/shell/outlet.h"
#include "service/controller/shell/status_window.h"

namespace pace::controller {

class Dispatcher {
  public:
    struct Options {
        CoreOptions core;
        uint32_t heartbeat_ms = 200;
        // A second daemon of the same name is refused while the first was heard within this.
        base::Duration name_held = std::chrono::seconds(1);
        size_t nodes_max = 65536;  // names that are remembered at once
    };

    struct Counters {
        uint64_t received = 0;
        uint64_t sent = 0;
        uint64_t malformed = 0;
        uint64_t unattached = 0;
        uint64_t refused = 0;
        uint64_t undeliverable = 0;
        uint64_t unread =
            0;  // questions for a status from connections that have not read the last ones
    };

    Dispatcher(const Options& options, uint64_t (*make_token)(), Outlet& outlet);

    // As the core's, before anything else.
    base::Result<> replay(std::span<const std::byte> record);
    void replay_finished(TimePoint now);

    // One message from a connection. Whatever it says, nothing worse happens than that it is
    // counted and dropped.
    void receive(std::string_view route, std::span<const std::byte> bytes_untrusted, TimePoint now);

    // A message from a connection that is not one envelope.
    void receive_malformed() { ++counters_.malformed; }

    void tick(TimePoint now);

    // This process did not run for so long that the daemons have given it up, or may have: nobody is attached any more, everybody is
    // told so, and the core begins anew from its hard state. So this is no case of its own, but a restart of the controller.
    void begin_anew(const std::string& reason, TimePoint now);

    // What an operator wants, as Core has it.
    base::Result<> set_draining(const std::string& node, bool draining, TimePoint now);
    base::Result<> delete_job(const std::string& name, TimePoint now);

    std::optional<TimePoint> next_deadline() const { return core_.next_deadline(); }

    const Core& core() const { return core_; }
    const Attachments& attachments() const { return attachments_; }
    const Counters& counters() const { return counters_; }

  private:
    void on_hello(std::string_view route, const protocol::control::Envelope& envelope,
                  TimePoint now);
    std::optional<base::Error> name_conflict(const Hello& hello, TimePoint now);
    void answer_status(std::string_view route, const protocol::control::Envelope& envelope,
                       const protocol::control::StatusRequest& request, TimePoint now);
    void on_stranger(std::string_view route, const protocol::control::Envelope& envelope);
    void on_attached_message(NodeId node, const protocol::control::Envelope& envelope,
                             TimePoint now);
    std::optional<base::Error> refused_for_disk(const Event& event) const;

    void apply(const Event& event, TimePoint now);
    void lose(NodeId node, std::string reason, TimePoint now);
    void take(std::string_view route, const protocol::control::Envelope& envelope, TimePoint now);
    void lose_unreachable(TimePoint now);
    void deliver_actions();
    void say_attached(NodeId node, uint64_t heartbeat = 0);
    void deliver(const Attached& action);
    void deliver(const Excluded& action);
    void deliver(const NodeForgotten& action) { attachments_.forget(action.node); }
    void deliver(JournalAppend& action) { outlet_.append(std::move(action.record)); }
    void deliver(const Note& action) { outlet_.note(action); }
    template <typename Message>
    void deliver(const To<Message>& action);
    template <typename Message>
    void tell(NodeId node, const Message& message);
    bool send(std::string_view route, std::span<const std::byte> message);
    // To whoever has sent the envelope, attached or not.
    template <typename Message>
    void answer(std::string_view route, const protocol::control::Envelope& envelope,
                const Message& message);

    const Options options_;
    Core core_;
    Outlet& outlet_;
    StatusWindow status_window_;
    Attachments attachments_;
    protocol::EnvelopeWriter writer_;
    Counters counters_;
    base::Repeated refusals_said_;
    Actions actions_;
    std::vector<NodeId> unreachable_;     // to be lost after the actions under way
    std::optional<Attachment> arriving_;  // said hello; the core has not answered yet
};

}  // namespace pace::controller
