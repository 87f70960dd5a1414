// Dispatcher: the control protocol around the core.
//
// It decides who may speak (hello, attachment, version, name, key), converts messages into events
// of the core, and sends the core's actions to the attached daemons. It uses no socket and no
// clock: the caller passes bytes and the time, and bytes go to the Outlet. So tests can try
// millions of hostile messages.
//
// If a message cannot be sent, the daemon and the core would disagree from then on. Therefore the
// node is declared lost, and its daemon, if alive, says hello again.
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
#include "service/controller/keys/rights.h"
#include "service/controller/shell/dispatch/attachments.h"
#include "service/controller/shell/dispatch/message_reader.h"
#include "service/controller/shell/dispatch/outlet.h"
#include "service/controller/shell/dispatch/recording_relay.h"
#include "service/controller/shell/dispatch/status_window.h"

namespace pace::controller {

class Dispatcher {
  public:
    struct Options {
        CoreOptions core;
        uint32_t heartbeat_ms = 200;
        // While the first daemon was heard within this time, a second of the same name is refused.
        base::Duration name_held = std::chrono::seconds(1);
        size_t nodes_max = 65536;  // names remembered at once
    };

    struct Counters {
        uint64_t received = 0;
        uint64_t sent = 0;
        uint64_t malformed = 0;
        uint64_t unattached = 0;
        uint64_t refused = 0;
        uint64_t undeliverable = 0;
        // Status requests from connections that have not read the earlier replies.
        uint64_t unread = 0;
        // Messages of connections whose key has been removed.
        uint64_t without_right = 0;
    };

    // `rights` outlive the dispatcher, and may change: then call rights_changed().
    Dispatcher(const Options& options, uint64_t (*make_token)(), Outlet& outlet,
               const Rights& rights = Rights::of_everyone());

    // As in Core; call replay functions before all others.
    base::Result<> replay(std::span<const std::byte> record);
    void replay_finished(TimePoint now);

    // Handles one message from a connection. At worst a message is counted and dropped. `key` is
    // the connection's, as in rights.h.
    void receive(std::string_view route, std::span<const std::byte> bytes_untrusted, TimePoint now,
                 std::string_view key = {});

    // Counts a message that is not one envelope.
    void receive_malformed() { ++counters_.malformed; }

    void tick(TimePoint now);

    // Loses every node whose daemon's key may not be that node any more.
    void rights_changed(TimePoint now);

    // Called when this process did not run for so long that daemons may have given it up. Detaches
    // all nodes and tells their daemons; the core restarts from its hard state. So this is handled
    // as a restart of the controller.
    void begin_anew(const std::string& reason, TimePoint now);

    // Operator commands, as in Core.
    base::Result<> set_draining(const std::string& node, bool draining, TimePoint now);
    base::Result<> delete_job(const std::string& name, TimePoint now);

    std::optional<TimePoint> next_deadline() const { return core_.next_deadline(); }

    const Core& core() const { return core_; }
    const Attachments& attachments() const { return attachments_; }
    const Counters& counters() const { return counters_; }

  private:
    void on_hello(std::string_view route, const protocol::control::Envelope& envelope,
                  TimePoint now);
    std::optional<base::Error> refusal_of(const base::Result<Hello>& hello, uint64_t attachment,
                                          TimePoint now);
    std::optional<base::Error> refused_for_user(const Event& event, NodeId node) const;
    std::optional<base::Error> name_conflict(const Hello& hello, TimePoint now);
    void answer_status(std::string_view route, const protocol::control::Envelope& envelope,
                       const protocol::control::StatusRequest& request, TimePoint now);
    // Whether the message was about recordings, which the core does not know.
    bool take_recording(NodeId node, const protocol::control::Envelope& envelope, TimePoint now);
    void ask_for_recording(NodeId asker, const protocol::control::RecordingAsked& asked,
                           TimePoint now);
    void hand_over_recording(NodeId from, const protocol::control::RecordingMade& made,
                             TimePoint now);
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
    // Answers the sender of the envelope, attached or not.
    template <typename Message>
    void answer(std::string_view route, const protocol::control::Envelope& envelope,
                const Message& message);

    const Options options_;
    Core core_;
    Outlet& outlet_;
    const Rights& rights_;
    std::string_view key_;  // of the message at hand
    StatusWindow status_window_;
    RecordingRelay recordings_;
    Attachments attachments_;
    protocol::EnvelopeWriter writer_;
    Counters counters_;
    base::Repeated refusals_said_;
    Actions actions_;
    std::vector<NodeId> unreachable_;     // to be lost after the current actions
    std::optional<Attachment> arriving_;  // said hello; the core has not answered yet
};

template <typename Message>
void Dispatcher::tell(NodeId node, const Message& message) {
    const Attachment* const attachment = attachments_.find(node);
    if (attachment == nullptr) return;
    if (send(attachment->route, writer_.write(node, attachment->number, message))) return;
    ++counters_.undeliverable;
    attachments_.detach(node);
    unreachable_.push_back(node);
}

}  // namespace pace::controller
