// Taking: bytes that one other node gives to this one: the other end of a Gift.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "daemon/collectives/communicator.h"
#include "daemon/exchange/scratch.h"
#include "daemon/exchange/services.h"

namespace pace::daemon {

class Taking {
  public:
    using Done = std::function<void(const base::Result<std::span<const std::byte>>&)>;

    // Receives `bytes` bytes from `node` as exchange `number`. `done` is called once, with bytes that live until it returns; not
    // before this returns. Frees itself when it has ended. Null, and `done` gets the reason, if the node is not known (any more)
    // or there is no memory.
    static std::shared_ptr<Taking> take(Services& services, uint64_t number, uint32_t check,
                                        NodeId node, size_t bytes, Done done);

    void abort(const base::Error& error) { communicator_.abort(error); }

  private:
    Taking(Services& services, collectives::Group group)
        : communicator_(services.transport, std::move(group)) {}

    Scratch memory_;
    collectives::Communicator communicator_;
};

}  // namespace pace::daemon
