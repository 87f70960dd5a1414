// CutLinks: the pairs of nodes between which nothing passes, though the controller hears both.
//
// Each end reports for itself, and a pair is cut until neither says so. What is reported counts a moment later: a node that
// nobody else reaches is told from one of two that miss each other alone by the reports of all.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

class CutLinks {
  public:
    // How long after the last report, and at most after the first, cuts begin to count. Guesses: daemons notice a cut within
    // about a tenth of a second of each other.
    static constexpr Duration kQuiet = std::chrono::milliseconds(200);
    static constexpr Duration kQuietMax = std::chrono::milliseconds(500);

    // A bound on what babbling nodes can make us remember. Between the halves of a cluster of 128 nodes there are as many.
    static constexpr size_t kCutsMax = 4096;

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
    // Both nodes are attached.
    Outcome report(const LinkCut& event, TimePoint now);
    // The node is gone. True if that has ended a cut that counted.
    bool forget(NodeId node);
    // True if more cuts count than before.
    bool settle(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    bool is_cut(NodeId a, NodeId b) const;  // and counts
    bool empty() const { return cuts_.empty(); }
    const std::map<Pair, Cut>& all() const { return cuts_; }

  private:
    std::map<Pair, Cut> cuts_;
    std::optional<TimePoint> first_unsettled_;
    TimePoint last_unsettled_{};
};

}  // namespace pace::controller
