// LoopWatch: measures how long the callbacks of an event loop take, and which took longest.
//
// The peers of a node give the node up when it is silent for half a second. A callback that takes a
// tenth of that time is therefore a fault of the code that registered it. The watch leaves out the
// time in which the thread was ready to run but had no processor. That time is known to about
// twenty milliseconds, and the error favours the callback.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/clock.h"

namespace pace::base {

// The place at which a callback was registered.
struct Origin {
    const char* file = "";
    unsigned line = 0;

    static constexpr Origin here(const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) {
        return {file, line};
    }
    // The file's name without its folders, and the line: "client.cpp:12".
    std::string text() const;
};

class LoopWatch {
  public:
    // A callback that takes longer delays all other callbacks too much.
    static constexpr Duration kLong = std::chrono::milliseconds(50);

    struct Step {
        Duration took{};
        std::string origin;
    };

    // The loop's thread calls the handler after each long step.
    void set_handler(std::function<void(const Step&)> handler) { handler_ = std::move(handler); }

    // Called before a callback. One thread.
    void begins(TimePoint at) {
        if (at - sampled_ >= kSampleEvery) sample(at);
    }
    // Called after the callback.
    void ended(TimePoint began, TimePoint at, Origin origin) {
        if (at - began > longest_.took || at - began >= kLong) judge(at - began, at, origin);
    }

    // The longest step and the number of long steps since the beginning.
    const Step& longest() const { return longest_; }
    uint64_t long_steps() const { return long_steps_; }

  private:
    static constexpr Duration kSampleEvery = std::chrono::milliseconds(20);

    void sample(TimePoint at);
    void judge(Duration took, TimePoint at, Origin origin);

    std::function<void(const Step&)> handler_;
    Step longest_;
    uint64_t long_steps_ = 0;
    TimePoint sampled_{};
    // How long this thread had waited for a processor at `sampled_`.
    Duration waited_{};
};

}  // namespace pace::base
