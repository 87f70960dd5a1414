#include "service/controller/shell/dispatch/status_window.h"

#include <algorithm>

namespace pace::controller {

StatusWindow::Connection* StatusWindow::find(std::string_view route, base::TimePoint now) {
    const auto known = by_route_.find(std::string(route));
    if (known != by_route_.end()) {
        connections_.splice(connections_.end(), connections_, known->second);
        return &connections_.back();
    }
    while (!connections_.empty() && now - connections_.front().asked > kForgottenAfter) {
        by_route_.erase(connections_.front().route);
        connections_.pop_front();
    }
    if (connections_.size() >= kConnectionsMax) return nullptr;
    connections_.push_back({.route = std::string(route), .unread = {}});
    by_route_.emplace(connections_.back().route, std::prev(connections_.end()));
    return &connections_.back();
}

uint64_t StatusWindow::admit(std::string_view route, uint64_t seen, base::TimePoint now) {
    Connection* connection = find(route, now);
    if (connection == nullptr) return 0;
    connection->asked = now;
    auto& unread = connection->unread;
    const auto read = std::find(unread.begin(), unread.end(), seen);
    if (read != unread.end()) unread.erase(unread.begin(), std::next(read));
    if (unread.size() >= kUnreadMax) return 0;
    unread.push_back(make_number_());
    return unread.back();
}

}  // namespace pace::controller
