// PeerWatch: whether any bytes come from the nodes that this one waits for.
//
// Whoever waits for a node suspects it, whatever for. A suspect is pinged: one whose worker is merely slow answers. If nothing
// at all has come from it for progress_deadline, the way to it is cut: what is under way with it ends, nothing begins, the
// controller and the log are told, the controller again and again. It is pinged on, over new connections, until something comes.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "daemon/exchange/services.h"

namespace pace::daemon {

class PeerWatch {
  public:
    // The way to the node is cut, since nothing has come for so long, or whole again: for the controller.
    using Tell = std::function<void(NodeId node, bool cut, base::Duration silent)>;

    PeerWatch(Services& services, Tell tell) : services_(services), tell_(std::move(tell)) {}
    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;

    // Something waits for the node.
    void suspect(NodeId node);
    // The connection to it is lost. True if that is no news: bytes have not moved for long, and the way is cut.
    bool lost(NodeId node);
    bool is_cut(NodeId node) const;

    // The node is gone, and whatever is under way with it; all are.
    void forget(NodeId node);
    void forget_all();
    // To a controller that may not know: of all, or of a node that it did not know yet either.
    void attached();
    void known(NodeId node);

  private:
    struct Suspect {
        base::TimePoint since{};       // it was suspected, or cut
        base::TimePoint last_heard{};  // by connections that are lost since
        base::TimePoint told{};        // when the controller was told last that it is cut
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
