// CompletionQueue: ended operations whose completions wait for the next progress().
//
// An operation may end inside the call that started it (an unknown peer, a message that was already
// there), yet its completion must not run there. It is put here and runs from progress().
#pragma once

#include <utility>
#include <vector>

#include "transports/transport.h"

namespace pace::transports {

class CompletionQueue {
  public:
    void push(Completion completion, base::Result<> result) {
        ended_.emplace_back(std::move(completion), std::move(result));
    }

    bool empty() const { return ended_.empty(); }

    // Runs what has ended so far, in order; what ends meanwhile waits for the next call. True if
    // anything ran.
    bool run() {
        if (ended_.empty()) return false;
        std::vector<Ended> batch;
        batch.swap(ended_);
        for (auto& [completion, result] : batch) {
            if (completion) completion(std::move(result));
        }
        return true;
    }

  private:
    using Ended = std::pair<Completion, base::Result<>>;
    std::vector<Ended> ended_;
};

}  // namespace pace::transports
