// Links: measures the ways to the nodes with which this one shares a view, and tells the controller (link_ping.h).
//
// When a view commits, the node with the lower id of each pair means to ping the other, which waits for that; whoever has
// measured a pair does not again while both nodes are attached. A measurement is of several series, some time apart, so that no busy moment is
// taken for a slow link: the controller is told after the first that makes sense, and again if a later one was faster. A node of the release
// before answers one series alone. A node pings one other at a time, and begins
// only while it has no exchange under way. In a large view it measures its 16 neighbours alone: those up to
// eight places before and behind it in the view's order, which both nodes of a pair conclude alike.
//
// Nothing depends on it. A side that is not there, or not in time, is waited for for a bounded time, in an exchange that
// nobody watches, and a pair that was not measured is tried again in the next view.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "daemon/control/messages.h"
#include "daemon/exchange/services.h"

namespace pace::daemon {

struct LinksOptions {
    base::Duration look_every = std::chrono::milliseconds(50);  // whether there is an exchange
    base::Duration ping_max = std::chrono::seconds(1);  // one pair's measurement takes no longer
    base::Duration ping_within = std::chrono::seconds(30);  // of the view; later none begins
    base::Duration answer_within = std::chrono::seconds(60);
    uint32_t series = 3;  // of pings, for each pair
    base::Duration series_apart = std::chrono::seconds(2);
};

class Links {
  public:
    static constexpr size_t kNeighboursEachWay = 8;

    explicit Links(Services& services, LinksOptions options = {});
    ~Links();
    Links(const Links&) = delete;
    Links& operator=(const Links&) = delete;

    // A view of a job has committed, over these nodes in its order.
    struct View {
        uint32_t job = 0;
        uint64_t token = 0;
        uint64_t epoch = 0;
        std::vector<NodeId> nodes;
    };
    void commit(const View& view);

    // The node is gone: when it comes again its link is measured again.
    void forget(NodeId node);
    // This node is excluded, or stops.
    void forget_all();
    // The controller may have forgotten: it is told all again.
    void attached();

    // What has not been told yet.
    void report(std::vector<control::LinkReport>& ret_reports);

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace pace::daemon
