// WaitTexts: what the requests of a session that last wait for, in the memory that it shares with its trainer (protocol/ring.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/memfd.h"
#include "protocol/ring.h"

namespace pace::daemon {

class WaitTexts {
  public:
    WaitTexts() = default;
    WaitTexts(std::shared_ptr<base::MappedMemfd> memory, const protocol::RingLayout& layout);

    // Of a request in flight. Cut where it is too long, between characters.
    void tell(uint64_t request, std::string_view text);
    // It has ended.
    void release(uint64_t request);

  private:
    std::shared_ptr<base::MappedMemfd> memory_;
    protocol::WaitText* first_ = nullptr;
    std::vector<uint64_t> requests_;  // by slot; 0: free. The memory itself is never read.
    uint32_t changes_ = 0;
};

}  // namespace pace::daemon
