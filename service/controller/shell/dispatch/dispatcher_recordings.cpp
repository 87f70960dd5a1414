// Dispatcher: recordings, which pass from daemon to daemon and never reach the core.
#include "protocol/options/names.h"
#include "service/controller/shell/dispatch/dispatcher.h"

namespace pace::controller {

namespace wire = protocol::control;
namespace messages = protocol::messages;
using base::ErrorKind;

bool Dispatcher::take_recording(NodeId node, const wire::Envelope& envelope, TimePoint now) {
    const auto* asked = envelope.body_as_RecordingAsked();
    const auto* made = envelope.body_as_RecordingMade();
    if (asked == nullptr && made == nullptr) return false;
    attachments_.heard(node, now);
    apply(NodeHeard{node}, now);
    if (asked != nullptr)
        ask_for_recording(node, *asked, now);
    else
        hand_over_recording(node, *made, now);
    return true;
}

void Dispatcher::ask_for_recording(NodeId asker, const wire::RecordingAsked& asked, TimePoint now) {
    const std::string name = asked.node()->str().substr(0, protocol::kNameBytesMax + 1);
    const auto refuse = [&](const base::Error& error) {
        tell(asker, JoinRefused{asked.request(), error});
    };
    if (!protocol::is_name(name))
        return refuse(base::make_error(ErrorKind::invalid, "that is no node's name"));
    const NodeId node = attachments_.find_name(name);
    if (node == 0)
        return refuse(base::make_error(ErrorKind::not_found,
                                       "no daemon of a node named {} is attached now", name));
    const uint64_t ticket = recordings_.ask({asker, asked.request(), node, asked.seen()}, now);
    if (ticket == 0)
        return refuse(
            base::make_error(ErrorKind::limit, "too many recordings are being fetched; try again"));
    tell(node, messages::RecordingWanted{ticket, asked.from()});
}

void Dispatcher::hand_over_recording(NodeId from, const wire::RecordingMade& made, TimePoint now) {
    const auto question = recordings_.answered(made.ticket(), from);
    if (!question || made.json() == nullptr) return;
    const Attachment* asker = attachments_.find(question->asker);
    if (asker == nullptr) return;
    const uint64_t number = status_window_.admit(asker->route, question->seen, now);
    if (number == 0) {
        ++counters_.unread;
        return;
    }
    tell(question->asker, messages::RecordingReply{question->request, made.json()->str(), number});
}

}  // namespace pace::controller
