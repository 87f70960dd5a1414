// Links: measures the links to the nodes with which this one shares a view, and reports them to the
// controller (link_ping.h).
//
// When a view commits, the node with the lower id of each pair pings the other, which waits for the
// pings. A measured pair is not measured again while both nodes are attached. A measurement
// consists of several series, some time apart, so that a busy moment is not taken for a slow link.
// The controller is told after the first series that makes sense, and again if a later one was
// faster. A node of the previous release answers one series only. A node pings one other node at a
// time, and begins only while it has no exchange under way. In a large view a node measures its 16
// neighbours only: those up to eight places before and behind it in the view's order, which both
// nodes of a pair conclude alike.
//
// Nothing depends on a measurement. A node waits for a bounded time for a node that is not there,
// or is late, in an exchange that nobody watches. A pair that was not measured is tried again in
// the next view.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "daemon/control/messages.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

struct LinksOptions {
    // To see whether an exchange is under way.
    base::Duration look_every = std::chrono::milliseconds(50);
    base::Duration ping_max = std::chrono::seconds(1);      // limit of one pair's measurement
    base::Duration ping_within = std::chrono::seconds(30);  // after the view; none begins later
    base::Duration answer_within = std::chrono::seconds(60);
    uint32_t series = 3;  // series of pings per pair
    base::Duration series_apart = std::chrono::seconds(2);
};

class Links {
  public:
    static constexpr size_t kNeighboursEachWay = 8;

    explicit Links(Services& services, LinksOptions options = {});
    ~Links();
    Links(const Links&) = delete;
    Links& operator=(const Links&) = delete;

    // A job's view, which has committed over these nodes, in its order.
    struct View {
        uint32_t job = 0;
        uint64_t token = 0;
        uint64_t epoch = 0;
        std::vector<NodeId> nodes;
    };
    // The view has committed.
    void commit(const View& view);

    // The node is gone: when it comes back, its link is measured again.
    void forget(NodeId node);
    // This node is excluded, or stops.
    void forget_all();
    // The controller may have forgotten, so all links are reported again.
    void attached();

    // Reports what has not been reported yet.
    void report(std::vector<control::LinkReport>& ret_reports);

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace pace::daemon
