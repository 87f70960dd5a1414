// CompletionQueue: ended operations whose completions wait for the next progress().
//
// An operation may end inside the call that started it, for example because its peer is unknown or
// its message was there already. The completion must not run inside that call. The completion is
// put in this queue and runs from progress().
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

    // Runs the completions of the operations that have ended so far, in order. The completions of
    // operations that end meanwhile wait for the next call. Returns true if a completion ran. If a
    // completion throws, the next call runs the rest of them.
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
    // The index in `running_` of the next completion to run.
    size_t next_ = 0;
};

}  // namespace pace::transports
