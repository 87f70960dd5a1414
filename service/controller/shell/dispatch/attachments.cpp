#include "service/controller/shell/dispatch/attachments.h"

#include <utility>

namespace pace::controller {

NodeId Attachments::check(NodeId claimed, uint64_t number, std::string_view route) const {
    const Attachment* attachment = find(claimed);
    const bool matches =
        attachment != nullptr && attachment->number == number && attachment->route == route;
    return matches ? claimed : 0;
}

const std::string* Attachments::excluded_because(NodeId claimed, uint64_t number) const {
    const auto seat = seats_.find(claimed);
    if (seat == seats_.end() || number == 0 || seat->second.excluded_number != number)
        return nullptr;
    return &seat->second.excluded_reason;
}

const Attachment* Attachments::find(NodeId node) const {
    const auto seat = seats_.find(node);
    if (seat == seats_.end() || !seat->second.attachment) return nullptr;
    return &*seat->second.attachment;
}

NodeId Attachments::find_name(std::string_view name) const {
    const auto entry = names_.find(std::string(name));
    return entry == names_.end() ? 0 : entry->second;
}

NodeId Attachments::find_route(std::string_view route) const {
    const auto entry = routes_.find(std::string(route));
    return entry == routes_.end() ? 0 : entry->second;
}

std::vector<NodeId> Attachments::nodes() const {
    std::vector<NodeId> nodes;
    nodes.reserve(routes_.size());
    for (const auto& [route, node] : routes_) nodes.push_back(node);
    return nodes;
}

void Attachments::heard(NodeId node, base::TimePoint now) {
    const auto seat = seats_.find(node);
    if (seat != seats_.end() && seat->second.attachment) seat->second.attachment->heard = now;
}

void Attachments::attach(NodeId node, Attachment attachment) {
    detach(node);
    names_[attachment.name] = node;
    routes_[attachment.route] = node;
    seats_[node].attachment = std::move(attachment);
}

void Attachments::detach(NodeId node) {
    const auto seat = seats_.find(node);
    if (seat == seats_.end() || !seat->second.attachment) return;
    names_.erase(seat->second.attachment->name);
    routes_.erase(seat->second.attachment->route);
    seat->second.attachment.reset();
}

void Attachments::exclude(NodeId node, std::string reason) {
    const auto seat = seats_.find(node);
    if (seat == seats_.end() || !seat->second.attachment) return;
    seat->second.excluded_number = seat->second.attachment->number;
    seat->second.excluded_reason = std::move(reason);
    detach(node);
}

void Attachments::forget(NodeId node) {
    detach(node);
    seats_.erase(node);
}

}  // namespace pace::controller
