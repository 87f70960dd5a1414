// CutLinks: the pairs of nodes that cannot reach each other, though the controller hears both.
//
// Each end reports for itself. A pair is cut until neither end reports a cut. A node that is alone
// with its report leaves itself (left_out.h): the network may be cut in one direction, and a node
// may lie. A report counts after a delay, since only the reports of all nodes tell a node that
// nobody else reaches from a node of a single broken pair.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class CutLinks {
  public:
    // Cuts begin to count kQuiet after the last report, and at most kQuietMax after the first.
    // Guesses: a node that returns after a cut hears from all others within two of the daemons'
    // pings, 0.4 s. Until then its complaint about the last of them must not count: otherwise the
    // healthy one of two nodes might be left out.
    static constexpr Duration kQuiet = std::chrono::milliseconds(500);
    static constexpr Duration kQuietMax = std::chrono::milliseconds(800);

    // A bound on the memory that faulty nodes can use: the number of cuts between two halves of a
    // cluster. Each pair has one entry, so that a node has at most as many as there are others.
    static constexpr size_t cuts_max(size_t attached) {
        return std::max<size_t>(4096, attached * attached / 4);
    }

    struct Pair {
        NodeId low = 0;
        NodeId high = 0;
        auto operator<=>(const Pair&) const = default;
    };
    static Pair pair_of(NodeId a, NodeId b) { return {std::min(a, b), std::max(a, b)}; }
    struct Cut {
        TimePoint since{};  // of the first report
        Duration silent{};  // silence in the first report
        bool low_says = false;
        bool high_says = false;
        // Whether this end has said that a job waits for the other end.
        bool low_waits = false;
        bool high_waits = false;
        bool counts = false;
    };

    enum class Outcome : uint8_t {
        other,
        said_anew,  // of a cut that counts, another end says so than before
        whole,      // a pair whose cut counted is whole again
        // the cut ended before it counted: only work under way is lost
        interrupted
    };
    // Both nodes must be attached. Cuts beyond the bound are not remembered; daemons report them
    // again.
    Outcome report(const From<LinkCut>& event, size_t attached, TimePoint now);
    // The node has said that a job waits for `other`. True if that is news of a cut that counts.
    bool waits(NodeId node, NodeId other);
    // Forgets a node that is gone.
    void forget(NodeId node);
    // Returns the pairs whose cuts count from now on.
    std::vector<Pair> settle(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    bool is_cut(NodeId a, NodeId b) const;  // and the cut counts
    // The end of a cut that counts whose word alone says so: the other end does not report the cut,
    // and no third node reports a cut from that other end. 0 if there is no such end.
    NodeId lone_reporter(Pair pair) const;
    // Whether a cut that counts keeps `node` from a job whose model is on `host`. The host's word
    // alone does not: the node must say so itself, or say that it waits for the host, or a third
    // node must report a cut from it. A host cannot leave itself, since the model would be lost.
    bool keeps_from_host(NodeId node, NodeId host) const;
    // The nodes from which this one is cut, whether the cuts count or not.
    const std::set<NodeId>& others_of(NodeId node) const;
    // Changes whenever the set of cuts that count changes.
    uint64_t version() const { return version_; }
    bool empty() const { return cuts_.empty(); }
    const std::map<Pair, Cut>& all() const { return cuts_; }

  private:
    void erase(Pair pair);

    std::map<Pair, Cut> cuts_;
    std::map<NodeId, std::set<NodeId>> others_;  // for both ends of each cut
    uint64_t version_ = 1;
    std::optional<TimePoint> first_unsettled_;
    TimePoint last_unsettled_{};
};

}  // namespace pace::controller
