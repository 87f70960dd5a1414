#include "service/controller/core/nodes/membership.h"

#include <algorithm>
#include <cstring>

#include "protocol/options/limits.h"
#include "service/controller/core/journal/journal_record.h"

namespace pace::controller {
namespace {

constexpr Duration kBrokenLinkWindow = std::chrono::seconds(10);
constexpr uint32_t kBrokenLinkReports = 3;
constexpr NodeId kRememberedIdMax = NodeId{1} << 31U;
constexpr size_t kGoneMax = 1024;  // nodes, in addition to as many as are attached
constexpr size_t kLabelsMax = 64;  // of zones, in addition to as many as there are nodes
constexpr size_t kReleaseBytesMax = 31;
constexpr size_t kReportsMax = 4096;  // bounds the memory that a faulty node can use

}  // namespace

// ------------------------------------------------------------------------------------------ attach

// A daemon may remember an id that a lost journal does not. All nodes must keep their ids, or the
// present training could not continue.
NodeId Membership::id_for(const std::string& name, NodeId last_id, const Turn& turn) {
    const auto known = ids_.find(name);
    if (known != ids_.end()) return known->second;
    const bool is_free = last_id != 0 && last_id <= kRememberedIdMax && !nodes_.contains(last_id);
    const NodeId id = is_free ? last_id : next_id_;
    next_id_ = std::max(next_id_, id + 1);
    ids_.emplace(name, id);
    turn.act(JournalAppend{encode(NodeRecord{id, name})});
    return id;
}

// Numbers start at 1, in the order in which labels are first seen.
uint32_t Membership::number_for(const std::string& label) {
    if (label.empty()) return 0;
    if (label_numbers_.size() >= nodes_.size() + kLabelsMax) forget_labels();
    const auto [entry, is_new] = label_numbers_.emplace(label, next_label_);
    if (is_new) ++next_label_;
    return entry->second;
}

NodeId Membership::attach(const Hello& event, const Turn& turn) {
    const NodeId id = id_for(event.name, event.last_id, turn);
    Node& node = nodes_[id];
    const bool was_draining = node.draining;
    node = Node{};
    node.id = id;
    node.name = event.name;
    node.draining = was_draining;
    node.release = event.release.substr(0, kReleaseBytesMax);
    node.attached = true;
    ++attached_;
    node.generation = event.generation;
    node.address = event.address;
    node.host = event.host;
    node.processors = event.processors;
    node.label = event.zone;
    node.label_number = number_for(event.zone);
    node.nccl = event.nccl;
    node.hosted = event.hosted;
    node.liveness = Liveness(turn.now, options_.liveness_min, options_.liveness_max);
    schedule(node);
    turn.act(Attached{id, node.name});
    for (const auto& [other_id, other] : nodes_) {
        if (other_id == id || !other.attached) continue;
        const auto key = new_pair_key();
        turn.tell(other_id, NodeKnown{id, node.name, node.address, key});
        turn.tell(id, NodeKnown{other_id, other.name, other.address, key});
    }
    return id;
}

// A key for two nodes, which are told of it over their own connections to the controller. The
// controller does not remember it.
std::vector<std::byte> Membership::new_pair_key() const {
    std::vector<std::byte> key(protocol::kPairKeyBytes);
    for (size_t at = 0; at < key.size(); at += sizeof(uint64_t)) {
        const uint64_t token = make_token_();
        std::memcpy(key.data() + at, &token, sizeof(token));
    }
    return key;
}

void Membership::detach(NodeId id, const std::string& reason, bool excluded, const Turn& turn) {
    Node* node = find(id);
    if (node == nullptr || !node->attached) return;
    node->attached = false;
    --attached_;
    node->probe_deadline.reset();
    node->reporters.clear();
    std::erase_if(reports_, [id](const Report& r) { return r.from == id || r.about == id; });
    if (excluded) turn.act(Excluded{id, reason});
    turn.tell_others(NodeGone{id, reason});
}

bool Membership::remembers_too_many() const {
    return nodes_.size() > 2 * attached_ + kGoneMax;
}

std::vector<NodeId> Membership::forget_all_but(const std::set<NodeId>& needed) {
    std::vector<NodeId> forgotten;
    for (const auto& [id, node] : nodes_)
        if (!node.attached && !node.draining && !needed.contains(id)) forgotten.push_back(id);
    for (const NodeId id : forgotten) {
        ids_.erase(nodes_.at(id).name);
        nodes_.erase(id);
    }
    forget_labels();
    return forgotten;
}

// Forgets the labels that no known node has.
void Membership::forget_labels() {
    std::set<std::string> labels;
    for (const auto& [id, node] : nodes_) labels.insert(node.label);
    std::erase_if(label_numbers_, [&](const auto& entry) { return !labels.contains(entry.first); });
}

void Membership::restore(NodeId id, const std::string& name) {
    ids_[name] = id;
    next_id_ = std::max(next_id_, id + 1);
    Node& node = nodes_[id];
    node.id = id;
    node.name = name;
}

bool Membership::set_draining(NodeId id, bool draining) {
    Node* node = find(id);
    if (node == nullptr || node->draining == draining) return false;
    node->draining = draining;
    return true;
}

// -------------------------------------------------------------------------------------- life signs

void Membership::on_heard(NodeId id, TimePoint now) {
    Node* node = find(id);
    if (node == nullptr || !node->attached) return;
    node->liveness.on_heard(now);
    node->probe_deadline.reset();
    node->reporters.clear();
}

void Membership::set_clock(NodeId id, uint64_t unix_ms, TimePoint now) {
    Node* node = find(id);
    if (node == nullptr || !node->attached) return;
    node->unix_ms = unix_ms;
    node->unix_told = now;
}

void Membership::on_machine(NodeId id, const MachineReport& machine) {
    Node* node = find(id);
    if (node == nullptr || !node->attached) return;
    node->machine.memory_bytes = machine.memory_bytes;
    node->machine.available_bytes = machine.available_bytes;
    const auto gpus =
        static_cast<std::ptrdiff_t>(std::min(machine.gpus.size(), protocol::kGpusToldMax));
    node->machine.gpus.assign(machine.gpus.begin(), machine.gpus.begin() + gpus);
}

std::optional<NodeId> Membership::on_peer_lost(const From<PeerLost>& event, const Turn& turn) {
    Node* suspect = find(event.suspect);
    const Node* reporter = find(event.node);
    if (suspect == nullptr || reporter == nullptr || event.suspect == event.node) return {};
    if (!suspect->attached || !reporter->attached) return {};
    if (const auto end = end_of_broken_link(*reporter, *suspect, turn.now)) return end;
    auto& reporters = suspect->reporters;
    if (std::find(reporters.begin(), reporters.end(), event.node) == reporters.end()) {
        reporters.push_back(event.node);
    }
    if (reporters.size() >= 2) return event.suspect;
    if (!suspect->probe_deadline) {
        suspect->probe_deadline = turn.now + options_.probe_wait;
        turn.act(Note{true,
                      "node-suspected",
                      fmt::format("node '{}' has lost its connection to node '{}', which is asked "
                                  "whether it lives: {}",
                                  reporter->name, suspect->name, event.reason),
                      {.node = suspect->name},
                      true});
        schedule(*suspect);
        turn.tell(event.suspect, Probe{});
    }
    return {};
}

// Stores a report. Returns the node to exclude if the link between the two is broken for good: the
// node with fewer workers, if both ends have reported. If one end alone has reported, it is that
// end: nobody can have another node excluded by its word alone.
std::optional<NodeId> Membership::end_of_broken_link(const Node& reporter, const Node& suspect,
                                                     TimePoint now) {
    while (!reports_.empty() &&
           (now - reports_.front().when > kBrokenLinkWindow || reports_.size() >= kReportsMax)) {
        reports_.pop_front();
    }
    reports_.push_back({now, reporter.id, suspect.id});
    uint32_t count = 0;
    bool has_suspect_reported = false;
    for (const Report& report : reports_) {
        if (!report.is_between(reporter.id, suspect.id)) continue;
        ++count;
        has_suspect_reported = has_suspect_reported || report.from == suspect.id;
    }
    if (count < kBrokenLinkReports) return std::nullopt;
    if (!has_suspect_reported || reporter.workers < suspect.workers) return reporter.id;
    return suspect.id;
}

TimePoint Membership::deadline_of(const Node& node) {
    const TimePoint silence = node.liveness.deadline();
    return node.probe_deadline ? std::min(silence, *node.probe_deadline) : silence;
}

// Deadlines move with every message, but the queue is corrected only when an entry comes up. A node
// has one valid entry, at its `scheduled`; an earlier entry makes a later one unnecessary.
void Membership::schedule(Node& node) {
    const TimePoint when = deadline_of(node);
    if (when >= node.scheduled) return;
    node.scheduled = when;
    deadlines_.push({when, node.id});
}

std::optional<Membership::Overdue> Membership::overdue(TimePoint now) {
    while (!deadlines_.empty() && deadlines_.top().when <= now) {
        const auto [when, id] = deadlines_.top();
        deadlines_.pop();
        Node* node = find(id);
        if (node == nullptr || !node->attached || node->scheduled != when) continue;
        node->scheduled = TimePoint::max();
        if (deadline_of(*node) > now) {
            schedule(*node);
            continue;
        }
        if (node->probe_deadline) {
            return Overdue{
                id, fmt::format("a peer lost node '{}', and it did not answer a probe within {} ms",
                                node->name, options_.probe_wait.count() / 1'000'000)};
        }
        return Overdue{id, fmt::format("node '{}' was silent for {:.0f} ms", node->name,
                                       base::to_seconds(now - node->liveness.heard()) * 1e3)};
    }
    return std::nullopt;
}

bool Membership::is_silent(NodeId id, TimePoint now) const {
    const Node* node = find(id);
    return node != nullptr && node->attached && node->liveness.deadline() <= now;
}

std::optional<TimePoint> Membership::next_deadline() const {
    if (deadlines_.empty()) return std::nullopt;
    return deadlines_.top().when;
}

// ------------------------------------------------------------------------------------------ lookup

bool Membership::is_attached(NodeId id) const {
    const Node* node = find(id);
    return node != nullptr && node->attached;
}

bool Membership::is_draining(NodeId id) const {
    const Node* node = find(id);
    return node != nullptr && node->draining;
}

const Node* Membership::find(NodeId id) const {
    const auto it = nodes_.find(id);
    return it == nodes_.end() ? nullptr : &it->second;
}

Node* Membership::find(NodeId id) {
    const auto it = nodes_.find(id);
    return it == nodes_.end() ? nullptr : &it->second;
}

NodeId Membership::id_of(const std::string& name) const {
    const auto it = ids_.find(name);
    return it == ids_.end() ? 0 : it->second;
}

std::string Membership::name_of(NodeId id) const {
    const Node* node = find(id);
    return node == nullptr ? fmt::format("#{}", id) : node->name;
}

uint32_t Membership::nccl_of(NodeId id) const {
    const Node* node = find(id);
    return node == nullptr ? 0 : node->nccl;
}

uint32_t Membership::label_of(NodeId id) const {
    const Node* node = find(id);
    return node == nullptr ? 0 : node->label_number;
}

}  // namespace pace::controller
