// What the holder of a key may do (rights.h).
#include <utility>

#include "service/controller/shell/dispatch/dispatcher.h"

namespace pace::controller {

namespace {

// The user for whom a message acts; none for other messages.
std::optional<uint32_t> user_of(const Event& event) {
    if (const auto* join = std::get_if<From<WorkerJoin>>(&event)) return join->uid;
    if (const auto* create = std::get_if<From<JobCreate>>(&event)) return create->uid;
    if (const auto* end = std::get_if<From<JobDelete>>(&event)) return end->uid;
    return std::nullopt;
}

}  // namespace

// A node may drain itself. To drain another one is root's.
std::optional<base::Error> Dispatcher::refused_for_user(const Event& event, NodeId node) const {
    const Attachment* const attachment = attachments_.find(node);
    if (attachment == nullptr) return std::nullopt;
    std::optional<uint32_t> uid = user_of(event);
    if (const auto* drain = std::get_if<From<NodeDrain>>(&event);
        drain != nullptr && drain->name != attachment->name)
        uid = 0;
    if (!uid || rights_.may_bring(attachment->key, *uid)) return std::nullopt;
    return base::make_error(base::ErrorKind::denied,
                            "node {} may not act for user {}; list the user in that key's .users "
                            "file in the controller's curve_allowed_dir",
                            attachment->name, *uid);
}

void Dispatcher::rights_changed(TimePoint now) {
    for (const NodeId node : attachments_.nodes()) {
        const Attachment* const attachment = attachments_.find(node);
        if (attachment == nullptr) continue;
        const auto refusal = rights_.refusal_of_name(attachment->key, attachment->name);
        if (refusal) lose(node, "its key was removed or replaced", now);
    }
}

}  // namespace pace::controller
