// ModelHold: while a model is copied from workers' buffers, off the event loop, nothing is written
// to buffers of the job on this node. An exchange goes on meanwhile; only its result waits.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace pace::daemon {

class ModelHold {
  public:
    void begin() { ++holders_; }
    // Called as often as begin(). The last call runs all waiting functions before it returns.
    void end() {
        if (--holders_ != 0) return;
        for (const auto& go_on : std::exchange(waiting_, {})) when_free(go_on);
    }
    bool is_held() const { return holders_ != 0; }

    // Calls `go_on` when nobody holds: at once, or from end().
    void when_free(const std::function<void()>& go_on) {
        if (is_held())
            waiting_.push_back(go_on);
        else
            go_on();
    }

  private:
    uint32_t holders_ = 0;
    std::vector<std::function<void()>> waiting_;
};

}  // namespace pace::daemon
