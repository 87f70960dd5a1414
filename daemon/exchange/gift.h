// Gift: bytes that this node sends to one other because it lacks them: a round's result that it missed, or a model for a
// newcomer. Owns a copy of the bytes, so that nobody here waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "daemon/collectives/communicator.h"
#include "daemon/exchange/scratch.h"
#include "daemon/exchange/services.h"

namespace pace::daemon {

class Gift {
  public:
    // Sends `bytes` bytes of `memory` to `node` as exchange `number`, in which the giver is node 0 and the taker node 1. Frees
    // itself when the transfer has ended, well or not.
    static std::weak_ptr<Gift> give(Services& services, uint64_t number, uint32_t check,
                                    NodeId node, Scratch memory, size_t bytes);

    // The same with a copy of `bytes`. ErrorKind::memory.
    static base::Result<std::weak_ptr<Gift>> give_copy(Services& services, uint64_t number,
                                                       uint32_t check, NodeId node,
                                                       std::span<const std::byte> bytes);

    void abort(const base::Error& error) { communicator_.abort(error); }

  private:
    Gift(Services& services, collectives::Group group, Scratch memory)
        : memory_(std::move(memory)), communicator_(services.transport, std::move(group)) {}

    Scratch memory_;
    collectives::Communicator communicator_;
};

}  // namespace pace::daemon
