#include "daemon/partial/agreement/agreement.h"

#include <algorithm>
#include <span>
#include <utility>

#include "daemon/partial/agreement/slots.h"

namespace pace::partial {

base::Task<base::Result<std::vector<NodeView>>> Agreement::run(NodeView own) {
    const size_t nodes = communicator_.size();
    const size_t self = communicator_.self();
    // The nodes' messages are stored one after the other, from this node's on. `begin` is where
    // each message begins.
    std::vector<size_t> begin(nodes + 1, 0);
    for (size_t i = 0; i < nodes; ++i)
        begin[i + 1] = begin[i] + 1 + roster_.nodes[(self + i) % nodes].size();
    std::vector<uint32_t> gathered(begin[nodes], kNothing);
    gathered[0] = own.terms;
    std::copy(own.given.begin(), own.given.end(), gathered.begin() + 1);

    size_t round = 0;
    for (size_t have = 1; have < nodes; have *= 2, ++round) {
        const size_t count = std::min(have, nodes - have);
        const uint32_t slot = slot_of(Step::agreement, round);
        from_ = (self + have) % nodes;
        to_ = (self + nodes - have) % nodes;
        communicator_.post_receive(received_, from_, slot,
                                   std::as_writable_bytes(std::span(gathered).subspan(
                                       begin[have], begin[have + count] - begin[have])));
        communicator_.post_send(sent_, to_, slot,
                                std::as_bytes(std::span(gathered).first(begin[count])));
        communicator_.note(co_await received_.ended());
        communicator_.note(co_await sent_.ended());
        if (const base::Result<> status = communicator_.status(); !status) co_return status.error();
    }

    std::vector<NodeView> views(nodes);
    for (size_t i = 0; i < nodes; ++i) {
        NodeView& view = views[(self + i) % nodes];
        view.terms = gathered[begin[i]];
        view.given.assign(gathered.begin() + static_cast<std::ptrdiff_t>(begin[i] + 1),
                          gathered.begin() + static_cast<std::ptrdiff_t>(begin[i + 1]));
    }
    co_return views;
}

std::vector<size_t> Agreement::waiting_for() const {
    std::vector<size_t> nodes;
    if (received_.pending()) nodes.push_back(from_);
    if (sent_.pending() && to_ != from_) nodes.push_back(to_);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
}

}  // namespace pace::partial
