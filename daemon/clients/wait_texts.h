// WaitTexts: texts that say what a session's long requests wait for, in the memory shared with its
// trainer (protocol/ring.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/memory/memfd.h"
#include "protocol/ring.h"

namespace pace::daemon {

class WaitTexts {
  public:
    WaitTexts() = default;
    WaitTexts(std::shared_ptr<base::MappedMemfd> memory, const protocol::RingLayout& layout);

    // Sets the text of a request in flight. A text that is too long is cut between characters.
    void tell(uint64_t request, std::string_view text);
    // To be called when the request has ended.
    void release(uint64_t request);

  private:
    std::shared_ptr<base::MappedMemfd> memory_;
    protocol::WaitText* first_ = nullptr;
    // By slot; 0: free. The shared memory itself is never read.
    std::vector<uint64_t> requests_;
    uint32_t changes_ = 0;
};

}  // namespace pace::daemon
