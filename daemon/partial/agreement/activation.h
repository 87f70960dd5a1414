// Activation: spreads the message "the round starts" from the nodes that start the round to all
// nodes of the round.
//
// Any node may start the round, and several may start it at once. The paper (section 4.1.1) sends
// the message along the union of all nodes' binomial trees. Each message of this union is sent
// once. This code works for any N. The first M = 2^⌊log2 N⌋ nodes form a hypercube, whose edges are
// the edges of those trees. Each other node is the appendix of one node of the hypercube.
//
//     node x < M      neighbours x xor 2^k, and x + M if there is such a node
//     node x >= M     neighbour x - M
//
// A node that starts the round sends to all its neighbours. So does a node that hears of the start
// from its appendix. A node that hears of the start along dimension k sends to its neighbours of
// the dimensions below k and to its appendix. No edge is used twice in one direction. No message is
// sent back to a node that brought the message. What an edge causes does not depend on who started
// the round. So every message of a single starter's tree is sent by some node, once, and all nodes
// hear of the start however many nodes start. One starter costs N-1 messages of zero bytes, in at
// most log2 M + 2 hops. S starters cost at most S times as many messages, and never more than M
// log2 M + 2 (N - M).
//
// A node goes on forwarding after its activation, because an earlier message may have come along a
// lower dimension. The forwarding and the node's receives end when the communicator is aborted. The
// round aborts the communicator once it knows that all nodes have begun. An error on an edge also
// aborts the communicator.
//
// Used in one thread, the communicator's. Allocates nothing after listen().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"

namespace pace::partial {

class Activation {
  public:
    // `activated` is called once, when this node starts the round or first hears of the start.
    // `failed` is called whenever an operation has ended with an error. The communicator is aborted
    // then. Either function may destroy this object. `communicator` must outlive this object.
    struct Events {
        std::function<void()> activated;
        std::function<void()> failed;
    };

    Activation(collectives::Communicator& communicator, Events events);
    Activation(const Activation&) = delete;
    Activation& operator=(const Activation&) = delete;

    // Waits for messages from all neighbours. Called once, before start().
    void listen();

    // Starts the round, unless it has started.
    void start();
    bool activated() const { return activated_; }

    // Ends when every operation has ended. Before this object is destroyed, the communicator must
    // be aborted and ended() must be awaited.
    base::Task<> ended();

  private:
    struct Edge {
        size_t node = 0;
        bool used = false;
        collectives::Operation sent;
        collectives::Operation heard;
    };

    base::Task<> hear(size_t edge);
    base::Task<> tell(size_t edge);
    void forward(size_t edges);
    void use(size_t edge);
    void become_active();

    collectives::Communicator& communicator_;
    Events events_;
    size_t dimensions_ = 0;
    // Whether this node has an appendix or is one. The appendix is the last edge.
    bool has_appendix_ = false;
    size_t edge_count_ = 0;
    std::unique_ptr<Edge[]> edges_;  // by dimension, then the appendix
    bool activated_ = false;
    base::Counter pending_;
};

}  // namespace pace::partial
