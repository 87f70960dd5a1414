// ToldNumbers: the numbers that the nodes of an exchange tell each other beside it
// (ExchangePlan::numbers). The messages travel while the buffers are exchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/loop/task.h"
#include "daemon/collectives/messages/communicator.h"

namespace pace::daemon {

class ToldNumbers {
  public:
    // `numbers`: by node, those of this node filled in. Both must stay until settle() has ended.
    ToldNumbers(collectives::Communicator& communicator,
                std::vector<std::vector<uint64_t>>& numbers);

    // Ends when every message has ended, well or not: the messages use the numbers' memory.
    base::Task<> settle();

  private:
    collectives::Communicator& communicator_;
    size_t nodes_;
    std::unique_ptr<collectives::Operation[]> sent_;
    std::unique_ptr<collectives::Operation[]> heard_;
};

}  // namespace pace::daemon
