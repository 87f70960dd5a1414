#include "daemon/partial/agreement/activation.h"

#include <bit>
#include <utility>

#include "daemon/partial/agreement/slots.h"

namespace pace::partial {

Activation::Activation(collectives::Communicator& communicator, Events events)
    : communicator_(communicator), events_(std::move(events)) {
    const size_t nodes = communicator_.size();
    const size_t self = communicator_.self();
    const size_t cube = std::bit_floor(nodes);
    if (self < cube) dimensions_ = static_cast<size_t>(std::countr_zero(cube));
    has_appendix_ = self >= cube || self + cube < nodes;
    edge_count_ = dimensions_ + (has_appendix_ ? 1 : 0);
    edges_.reset(new Edge[edge_count_]);
    for (size_t k = 0; k < dimensions_; ++k) edges_[k].node = self ^ (size_t{1} << k);
    if (has_appendix_) edges_[dimensions_].node = self < cube ? self + cube : self - cube;
}

void Activation::listen() {
    for (size_t edge = 0; edge < edge_count_; ++edge) {
        pending_.add();
        base::spawn(hear(edge), [this] { pending_.done(); });
    }
}

void Activation::start() {
    if (activated_) return;
    forward(dimensions_);
    become_active();
}

base::Task<> Activation::ended() {
    // A named reference, because GCC 12 copies an awaited member.
    base::Counter& pending = pending_;
    co_await pending;
}

base::Task<> Activation::hear(size_t edge) {
    communicator_.post_receive(edges_[edge].heard, edges_[edge].node, slot_of(Step::activation, 0),
                               {});
    const base::Result<> heard = co_await edges_[edge].heard.ended();
    if (!heard) {
        communicator_.note(heard);
        events_.failed();
        co_return;
    }
    // The sender of the message needs no message. It has already sent along all lower dimensions.
    edges_[edge].used = true;
    forward(edge);
    become_active();
}

// Sends to the dimensions below `edges`, the farthest first, and to the appendix.
void Activation::forward(size_t edges) {
    for (size_t k = edges; k-- > 0;) use(k);
    if (has_appendix_) use(dimensions_);
}

void Activation::use(size_t edge) {
    if (std::exchange(edges_[edge].used, true)) return;
    pending_.add();
    base::spawn(tell(edge), [this] { pending_.done(); });
}

base::Task<> Activation::tell(size_t edge) {
    communicator_.post_send(edges_[edge].sent, edges_[edge].node, slot_of(Step::activation, 0), {});
    const base::Result<> sent = co_await edges_[edge].sent.ended();
    if (sent) co_return;
    communicator_.note(sent);
    events_.failed();
}

void Activation::become_active() {
    if (!std::exchange(activated_, true)) events_.activated();
}

}  // namespace pace::partial
