// Activation: the word "the round starts", from whoever says it first to all nodes of the round.
//
// Any node may say it, several at once. The paper (section 4.1.1) sends it along the union of all
// nodes' binomial trees, in which every message is sent once. Here for any N: the first M = 2^⌊log2
// N⌋ nodes form a hypercube, whose edges those trees are, and each of the others hangs on one of
// them.
//
//     node x < M      neighbours x xor 2^k, and x + M if there is such a node
//     node x >= M     neighbour x - M
//
// A node that starts the round, or hears of it from its appendix, sends to all its neighbours; one
// that hears of it along dimension k to those of the dimensions below k and to its appendix. No
// edge is used twice in one direction, nor towards a node that brought the word. What an edge causes
// does not depend on who started, so that whatever one starter's tree would have sent is sent by
// somebody, once: all nodes hear of it, however many start. One starter costs N-1 messages of zero
// bytes, in at most log2 M + 2 hops; S starters at most S times as many, and never more than M log2
// M + 2 (N - M).
//
// A node goes on forwarding after it was activated: an earlier word may have come along a lower
// dimension. That, and its receives, end when the communicator is aborted, which the round does
// once it knows that all nodes have begun. An error on an edge aborts the communicator.
//
// One thread, the communicator's. Allocates nothing after listen().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"

namespace pace::partial {

class Activation {
  public:
    // `activated` is called once, when this node first hears of the start or starts; `failed` is
    // called whenever an operation has ended with an error, the communicator being aborted then.
    // Either may end everything. `communicator` must outlive this.
    struct Events {
        std::function<void()> activated;
        std::function<void()> failed;
    };

    Activation(collectives::Communicator& communicator, Events events);
    Activation(const Activation&) = delete;
    Activation& operator=(const Activation&) = delete;

    // Waits for the word from all neighbours. Once, before start().
    void listen();

    // Starts the round, unless it has started.
    void start();
    bool activated() const { return activated_; }

    // Ends when every operation has; to be awaited, the communicator being aborted, before this is
    // destroyed.
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
    bool has_appendix_ = false;  // or is one: the last edge
    size_t edge_count_ = 0;
    std::unique_ptr<Edge[]> edges_;  // by dimension, then the appendix
    bool activated_ = false;
    base::Counter pending_;
};

}  // namespace pace::partial
