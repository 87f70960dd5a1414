// CutLinks: the pairs of nodes between which nothing passes, though the controller hears both.
//
// Each end reports for itself, and a pair is cut until neither says so. What is reported counts a moment later: a node that
// nobody else reaches is told from one of two that miss each other alone by the reports of all.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

class CutLinks {
  public:
    // How long after the last report, and at most after the first, cuts begin to count. Guesses: a node that comes back after a cut
    // hears from all others within two of the daemons' pings, 0.4 s. Until then its complaint of the last of them must not count:
    // of two nodes the healthy one might be left out.
    static constexpr Duration kQuiet = std::chrono::milliseconds(500);
    static constexpr Duration kQuietMax = std::chrono::milliseconds(800);

    // A bound on what babbling nodes can make us remember: as many as there are between the halves of a cluster. Each pair has one entry,
    // so that one node has no more than there are others.
    static constexpr size_t cuts_max(size_t attached) {
        return std::max<size_t>(4096, attached * attached / 4);
    }

    struct Pair {
        NodeId low = 0;
        NodeId high = 0;
        auto operator<=>(const Pair&) const = default;
    };
    struct Cut {
        TimePoint since{};  // the first report
        Duration silent{};  // what that said
        bool low_says = false;
        bool high_says = false;
        bool counts = false;
    };

    enum class Outcome : uint8_t {
        other,
        whole,       // a pair that counted is whole again
        interrupted  // one that was not cut for long enough to count is: only what was under way is lost
    };
    // Both nodes are among those that are attached. What is one too many is not remembered; daemons say it again.
    Outcome report(const From<LinkCut>& event, size_t attached, TimePoint now);
    // The node is gone. True if that has ended a cut that counted.
    bool forget(NodeId node);
    // True if more cuts count than before.
    bool settle(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    bool is_cut(NodeId a, NodeId b) const;  // and counts
    // From which nodes this one is cut, whether that counts or not.
    const std::set<NodeId>& others_of(NodeId node) const;
    // Another number whenever other cuts count than before.
    uint64_t version() const { return version_; }
    bool empty() const { return cuts_.empty(); }
    const std::map<Pair, Cut>& all() const { return cuts_; }

  private:
    void erase(Pair pair);

    std::map<Pair, Cut> cuts_;
    std::map<NodeId, std::set<NodeId>> others_;  // of both ends of each
    uint64_t version_ = 1;
    std::optional<TimePoint> first_unsettled_;
    TimePoint last_unsettled_{};
};

}  // namespace pace::controller
