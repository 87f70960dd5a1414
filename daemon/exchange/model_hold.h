// ModelHold: while a model is copied from workers' buffers, beside the loop, nothing of their job is written to buffers on this node.
// An exchange goes on meanwhile and only waits with its result.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace pace::daemon {

class ModelHold {
  public:
    void begin() { ++holders_; }
    // As often as begin(). The last one lets everybody go on who waits, before it returns.
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
