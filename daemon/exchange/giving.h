// Giving: bytes that this node sends to one other node that lacks them: the result of a round that
// the other node missed, or a model for a newcomer. The Giving owns the bytes, or a copy, so that
// nobody here waits for the transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "daemon/exchange/transfer.h"

namespace pace::daemon {

class Giving {
  public:
    // Sends `bytes` bytes of `memory` to the node that `about` names, as exchange `number`, in
    // which the giver is node 0 and the taker node 1. The Giving frees itself when the transfer has
    // ended, well or not.
    static std::weak_ptr<Transfer> give(Services& services, Transfer::About about, uint64_t number,
                                        uint32_t check, Scratch memory, size_t bytes);

    // As give(), of `bytes`, which are there as long as `memory` is.
    static std::weak_ptr<Transfer> give_held(Services& services, Transfer::About about,
                                             uint64_t number, uint32_t check,
                                             std::span<const std::byte> bytes,
                                             std::shared_ptr<const void> memory);

    // As give(), with a copy of the few `bytes`. ErrorKind::memory.
    static base::Result<std::weak_ptr<Transfer>> give_copy(Services& services,
                                                           Transfer::About about, uint64_t number,
                                                           uint32_t check,
                                                           std::span<const std::byte> bytes);
};

}  // namespace pace::daemon
