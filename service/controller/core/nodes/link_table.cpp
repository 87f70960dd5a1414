#include "service/controller/core/nodes/link_table.h"

#include <algorithm>
#include <cmath>

namespace pace::controller {
namespace {

// Beyond these values nothing is a network: an hour for a message, a second for a byte.
constexpr uint64_t kLatencyMax = 3'600'000'000'000;
constexpr double kNsPerByteMax = 1e9;
constexpr double kMebibyte = 1024.0 * 1024.0;

bool makes_sense(const LinkReport& report) {
    return report.latency_ns <= kLatencyMax && std::isfinite(report.ns_per_byte) &&
           report.ns_per_byte >= 0 && report.ns_per_byte <= kNsPerByteMax;
}

}  // namespace

double mebibyte_ns(const Link& link) {
    return static_cast<double>(link.latency_ns) + kMebibyte * link.ns_per_byte;
}

bool LinkTable::add(NodeId from, const LinkReport& report) {
    if (report.node == from || !makes_sense(report)) return false;
    auto& links = links_[from];
    if (links.size() >= kLinksOfNodeMax && !links.contains(report.node)) return false;
    links[report.node] = {report.latency_ns, report.ns_per_byte};
    return true;
}

bool LinkTable::is_full(NodeId from) const {
    const auto links = links_.find(from);
    return links != links_.end() && links->second.size() >= kLinksOfNodeMax;
}

void LinkTable::forget_if(NodeId from, const std::function<bool(NodeId to)>& holds) {
    const auto links = links_.find(from);
    if (links == links_.end()) return;
    std::erase_if(links->second, [&holds](const auto& link) { return holds(link.first); });
}

void LinkTable::forget(NodeId node) {
    links_.erase(node);
    for (auto& [from, links] : links_) links.erase(node);
}

const Link* LinkTable::find(NodeId from, NodeId to) const {
    const auto links = links_.find(from);
    if (links == links_.end()) return nullptr;
    const auto link = links->second.find(to);
    return link == links->second.end() ? nullptr : &link->second;
}

std::optional<double> LinkTable::mebibyte_ns_between(NodeId a, NodeId b) const {
    std::optional<double> slower;
    for (const Link* link : {find(a, b), find(b, a)})
        if (link != nullptr) slower = std::max(slower.value_or(0), mebibyte_ns(*link));
    return slower;
}

}  // namespace pace::controller
