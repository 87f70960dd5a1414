// PeerWatch: whether any bytes come from the nodes that this one waits for.
//
// Code that waits for a node suspects it. A suspect is pinged; one whose worker is merely slow
// answers. If nothing at all has come from a suspect for progress_deadline, the way to it is cut:
// everything under way with it ends, nothing begins, and the log and the controller are told, the
// controller repeatedly. The node is still pinged, over new connections, until something comes from
// it.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

class PeerWatch {
  public:
    // Tells the controller that the way to the node is cut, since nothing has come for `silent`, or
    // that it is whole again.
    using Tell = std::function<void(NodeId node, bool cut, base::Duration silent)>;

    PeerWatch(Services& services, Tell tell) : services_(services), tell_(std::move(tell)) {}
    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;

    // Something waits for the node.
    void suspect(NodeId node);
    // The connection to the node is lost. True if this is no news: bytes have not moved for long,
    // and the way is cut.
    bool lost(NodeId node);
    bool is_cut(NodeId node) const;

    // The node is gone, and with it everything under way.
    void forget(NodeId node);
    // All nodes are gone.
    void forget_all();
    // Tells a controller of all cuts that it may not know.
    void attached();
    // Tells the controller, which has just come to know the node, whether the way to it is cut.
    void known(NodeId node);

  private:
    struct Suspect {
        base::TimePoint since{};       // when it was suspected, or cut
        base::TimePoint last_heard{};  // over connections that are lost since
        base::TimePoint told{};        // when the controller was last told of the cut
        bool cut = false;
    };

    void look_later();
    void look();
    bool ping(NodeId node, Suspect& suspect, base::TimePoint now);
    void tell_of_cut(NodeId node, Suspect& suspect);
    void cut_off(NodeId node, Suspect& suspect, base::Duration silent);

    Services& services_;
    Tell tell_;
    std::map<NodeId, Suspect> suspects_;
    base::Timer timer_;
    base::TimePoint due_{};
};

}  // namespace pace::daemon
