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

    bool empty() const { return ended_.empty() && next_ == running_.size(); }

    // Runs what has ended so far, in order; what ends meanwhile waits for the next call. True if
    // anything ran.
    // Should one of them throw, the rest of them comes with the next call.
    bool run() {
        if (empty()) return false;
        if (next_ == running_.size()) {
            running_.clear();
            next_ = 0;
            running_.swap(ended_);
        }
        while (next_ < running_.size()) {
            auto [completion, result] = std::move(running_[next_++]);
            if (completion) completion(std::move(result));
        }
        return true;
    }

  private:
    using Ended = std::pair<Completion, base::Result<>>;
    std::vector<Ended> ended_;
    std::vector<Ended> running_;
    size_t next_ = 0;  // of those
};

}  // namespace pace::transports
