// PeerWatch: whether any bytes come from the nodes that this one waits for.
//
// Code that waits for a node suspects it. A suspect is pinged; one whose worker is merely slow
// answers. If nothing at all has come from a suspect for progress_deadline, or it cannot be reached
// from here for so long, the way to it is cut: everything under way with it ends, nothing begins,
// and the log and the controller are told, the controller repeatedly. The node is still pinged,
// over new connections, until something comes from it.
//
// A lost connection is told at once. If the next one is lost soon after, that is told when
// something has come from the node, or the way to it is cut. Otherwise two nodes that cannot reach
// each other would have the controller exclude one of them again and again.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

class PeerWatch {
  public:
    // What the controller is told.
    struct Tell {
        // The way to the node is cut, since nothing has come for `silent`, or it is whole again.
        std::function<void(NodeId node, bool cut, base::Duration silent)> cut;
        // The connection to the node was lost.
        std::function<void(NodeId node, const std::string& reason)> lost;
    };

    PeerWatch(Services& services, Tell tell) : services_(services), tell_(std::move(tell)) {}
    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;

    // Something waits for the node.
    void suspect(NodeId node);
    // The connection to the node is lost. It is no news if bytes have not moved for long, and the
    // way is cut.
    void lost(NodeId node, const std::string& reason);
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
        std::optional<std::string> untold_loss = {};  // the reason
    };

    bool was_loss_told(NodeId node) const;
    void tell_of_loss(NodeId node, const std::string& reason);
    void look_later();
    void look();
    bool ping(NodeId node, Suspect& suspect, base::TimePoint now);
    void tell_of_cut(NodeId node, Suspect& suspect);
    void cut_off(NodeId node, Suspect& suspect, base::Duration silent);

    Services& services_;
    Tell tell_;
    std::map<NodeId, Suspect> suspects_;
    // When the last loss of a node was told, also of nodes that were forgotten since.
    std::map<NodeId, base::TimePoint> losses_told_;
    base::Timer timer_;
    base::TimePoint due_{};
};

}  // namespace pace::daemon
