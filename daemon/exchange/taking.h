// Taking: receives bytes that one other node gives to this one: the other end of a Giving.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "daemon/exchange/transfer.h"

namespace pace::daemon {

class Taking {
  public:
    using Done = std::function<void(const base::Result<std::span<const std::byte>>&)>;

    // Receives `bytes` bytes from the node that `about` names, as exchange `number`. `done` is
    // called once, not before this returns, and not after the owner's end. Its bytes live until it
    // returns. The Taking frees itself when it has ended. If the node is not known (any more), or
    // there is no memory, returns null and `done` gets the reason.
    static std::shared_ptr<Transfer> take(const base::Scope& owner, Services& services,
                                          Transfer::About about, uint64_t number, uint32_t check,
                                          size_t bytes, const Done& done);

    // As take(), but `done` gets the memory.
    using Given = std::function<void(base::Result<Scratch>)>;
    static std::shared_ptr<Transfer> take_memory(const base::Scope& owner, Services& services,
                                                 Transfer::About about, uint64_t number,
                                                 uint32_t check, size_t bytes, const Given& done);

  private:
    // `ended` is called once, not before this returns.
    using Ended = std::function<void(const base::Result<std::shared_ptr<Transfer>>&)>;
    static std::shared_ptr<Transfer> begin(const base::Scope& owner, Services& services,
                                           Transfer::About about, uint64_t number, uint32_t check,
                                           size_t bytes, const Ended& ended);
};

}  // namespace pace::daemon
