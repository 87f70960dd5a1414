#include "daemon/collectives/messages/barrier.h"

#include "daemon/collectives/messages/slots.h"

namespace pace::collectives {

base::Task<base::Result<>> barrier(Communicator& communicator) {
    const size_t nodes = communicator.size();
    const size_t self = communicator.self();
    Operation sent;
    Operation received;
    size_t round = 0;
    for (size_t distance = 1; distance < nodes; distance *= 2, ++round) {
        communicator.post_receive(received, (self + nodes - distance) % nodes,
                                  slot(Phase::barrier, round), {});
        communicator.post_send(sent, (self + distance) % nodes, slot(Phase::barrier, round), {});
        communicator.note(co_await received.ended());
        communicator.note(co_await sent.ended());
        if (communicator.aborted()) break;
    }
    co_return communicator.status();
}

}  // namespace pace::collectives
