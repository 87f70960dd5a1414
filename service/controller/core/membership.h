// Membership: the nodes of the cluster, whether they live, and who says that they do not.
//
// A node's name keeps its id for the controller's life and, through the journal or the daemon's own
// memory, beyond. A zone's label keeps its number as long as a node has it. Of nodes that are gone, and that no job
// refers to, only so many are remembered: names may be drawn anew at every start, for ever. A node is
// excluded when it is silent beyond its adaptive liveness, when it does not answer a probe that a
// peer's report caused, or at once when a second peer reports it while it is probed. A suspect that
// answers stays; if the same two nodes lose each other three times within ten seconds though both
// talk to the controller, the link between them is broken: the one with fewer workers goes (the
// suspect if they have as many), since that costs least.
//
// This class decides and tells the nodes; whoever calls detach() sees to the workers.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "service/controller/core/core.h"
#include "service/controller/core/liveness.h"
#include "service/controller/core/turn.h"

namespace pace::controller {

struct Node {
    NodeId id = 0;
    std::string name;
    bool attached = false;
    uint64_t generation = 0;
    std::vector<std::byte> address;
    std::string host;
    uint32_t processors = 0;
    std::string label;          // its zone, in words of the operator; empty: none
    uint32_t label_number = 0;  // 0: none
    uint32_t nccl = 0;          // 0: none
    bool hosted = false;        // in its trainer's process
    uint32_t workers = 0;       // live ones, of all jobs
    bool draining = false;      // an operator wants it to have none
    std::string release;        // of its daemon; empty: it does not say
    Liveness liveness;
    std::optional<TimePoint> probe_deadline;
    std::vector<NodeId> reporters;           // while it is probed
    TimePoint scheduled = TimePoint::max();  // its next look
};

class Membership {
  public:
    explicit Membership(const CoreOptions& options) : options_(options) {}

    // Gives the node its id and makes it and the others known to each other. It must not be
    // attached.
    NodeId attach(const Hello& event, const Turn& turn);

    // The node is gone; the others are told, and it too if it was `excluded`.
    void detach(NodeId id, const std::string& reason, bool excluded, const Turn& turn);

    void on_heard(NodeId id, TimePoint now);

    // The node to exclude at once, if the report is reason enough; a probe otherwise.
    std::optional<NodeId> on_peer_lost(const From<PeerLost>& event, const Turn& turn);

    // Gone nodes that may be forgotten, if there are too many: those that are not among `needed`. Returns them.
    bool remembers_too_many() const;
    std::vector<NodeId> forget_all_but(const std::set<NodeId>& needed);

    // A node whose time has run out, and why.
    struct Overdue {
        NodeId node = 0;
        std::string reason;
    };
    std::optional<Overdue> overdue(TimePoint now);
    bool is_silent(NodeId id, TimePoint now) const;

    bool is_attached(NodeId id) const;
    const Node* find(NodeId id) const;
    Node* find(NodeId id);
    NodeId id_of(const std::string& name) const;  // 0: none
    std::string name_of(NodeId id) const;
    uint32_t nccl_of(NodeId id) const;   // 0: none, or no such node
    uint32_t label_of(NodeId id) const;  // the number of its zone's label; 0: none, or no such node
    const std::map<NodeId, Node>& nodes() const { return nodes_; }
    size_t attached() const { return attached_; }
    size_t labels() const { return label_numbers_.size(); }  // that are remembered

    // No later than the first deadline of a node; may be earlier.
    std::optional<TimePoint> next_deadline() const;

    // False if there is no such node, or it is so already.
    bool set_draining(NodeId id, bool draining);
    bool is_draining(NodeId id) const;

    // From the journal.
    void restore(NodeId id, const std::string& name);

  private:
    struct Report {
        TimePoint when;
        NodeId low = 0;
        NodeId high = 0;
    };
    struct Deadline {
        TimePoint when;
        NodeId node = 0;
        bool operator>(const Deadline& other) const { return when > other.when; }
    };

    NodeId id_for(const std::string& name, NodeId last_id, const Turn& turn);
    uint32_t number_for(const std::string& label);
    void forget_labels();
    uint32_t reports_between(NodeId a, NodeId b, TimePoint now);
    static TimePoint deadline_of(const Node& node);
    void schedule(Node& node);

    CoreOptions options_;
    std::map<NodeId, Node> nodes_;
    std::unordered_map<std::string, NodeId> ids_;
    std::unordered_map<std::string, uint32_t> label_numbers_;
    uint32_t next_label_ = 1;
    size_t attached_ = 0;
    NodeId next_id_ = 1;
    std::deque<Report> reports_;
    std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
};

}  // namespace pace::controller
