// Membership: the nodes of the cluster, and the decision whether each is alive.
//
// A node's name keeps its id for the controller's life, and beyond through the journal or the
// daemon's memory. A zone's label keeps its number as long as a node has the label. The number of
// remembered nodes that are gone, and that no job refers to, is bounded, since names may be drawn
// anew at every start.
//
// A node is excluded if it is silent beyond its adaptive liveness, or does not answer a probe
// caused by a peer's report, or if a second peer reports it while it is probed. A suspect that
// answers stays. If the same two nodes lose each other three times within ten seconds though both
// talk to the controller, the link between them is broken. Then the node with fewer workers is
// excluded, since that costs least; if they have equally many, it is the suspect.
//
// This class decides and informs the nodes. The caller of detach() takes care of the workers.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "service/controller/core/nodes/liveness.h"
#include "service/controller/vocabulary/core_options.h"
#include "service/controller/vocabulary/turn.h"

namespace pace::controller {

struct Node {
    NodeId id = 0;
    std::string name;
    bool attached = false;
    uint64_t generation = 0;
    std::vector<std::byte> address;
    std::string host;
    uint32_t processors = 0;
    std::string label;          // the operator's name of its zone; empty: none
    uint32_t label_number = 0;  // 0: none
    uint32_t nccl = 0;          // 0: none
    bool hosted = false;        // in its trainer's process
    uint32_t workers = 0;       // live ones, of all jobs
    bool draining = false;      // an operator wants it to have none
    std::string release;        // of its daemon; empty: it does not say
    uint64_t unix_ms = 0;       // its own clock when it told it last; 0: it does not say
    TimePoint unix_told{};      // that moment here
    MachineReport machine;      // the latest; empty: none yet
    Liveness liveness;
    std::optional<TimePoint> probe_deadline;
    std::vector<NodeId> reporters;           // that reported it during the probe
    TimePoint scheduled = TimePoint::max();  // next check
};

class Membership {
  public:
    // `make_token` returns random numbers that nobody can guess.
    Membership(const CoreOptions& options, uint64_t (*make_token)())
        : options_(options), make_token_(make_token) {}

    // Gives the node its id, and announces it and the other nodes to each other. The node must not
    // be attached.
    NodeId attach(const Hello& event, const Turn& turn);

    // The node is gone. Tells the others, and also the node if it was `excluded`.
    void detach(NodeId id, const std::string& reason, bool excluded, const Turn& turn);

    void on_heard(NodeId id, TimePoint now);
    // What the node's own clock shows now.
    void set_clock(NodeId id, uint64_t unix_ms, TimePoint now);
    // What is more than kGpusToldMax GPUs is forgotten.
    void on_machine(NodeId id, const MachineReport& machine);

    // Returns the node to exclude at once, if the report is sufficient; otherwise probes the
    // suspect.
    std::optional<NodeId> on_peer_lost(const From<PeerLost>& event, const Turn& turn);

    // Whether too many nodes that are gone are remembered. forget_all_but() forgets those that are
    // not among `needed`, and returns them.
    bool remembers_too_many() const;
    std::vector<NodeId> forget_all_but(const std::set<NodeId>& needed);

    // A node whose deadline has passed, and the reason for its loss.
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
    size_t labels() const { return label_numbers_.size(); }  // remembered

    // No later than the first deadline of a node; may be earlier.
    std::optional<TimePoint> next_deadline() const;

    // False if there is no such node, or it is already in this state.
    bool set_draining(NodeId id, bool draining);
    bool is_draining(NodeId id) const;

    // Restores a node from the journal.
    void restore(NodeId id, const std::string& name);

  private:
    struct Report {
        TimePoint when;
        NodeId from = 0;
        NodeId about = 0;

        bool is_between(NodeId a, NodeId b) const {
            return (from == a && about == b) || (from == b && about == a);
        }
    };
    struct Deadline {
        TimePoint when;
        NodeId node = 0;
        bool operator>(const Deadline& other) const { return when > other.when; }
    };

    std::vector<std::byte> new_pair_key() const;
    NodeId id_for(const std::string& name, NodeId last_id, const Turn& turn);
    uint32_t number_for(const std::string& label);
    void forget_labels();
    std::optional<NodeId> end_of_broken_link(const Node& reporter, const Node& suspect,
                                             TimePoint now);
    static TimePoint deadline_of(const Node& node);
    void schedule(Node& node);

    CoreOptions options_;
    uint64_t (*make_token_)();
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
