// LoopWatch: how long the callbacks of an event loop take, and which took longest.
//
// Whoever is silent for half a second is given up by its peers, so that a callback which takes a tenth of that is a fault, of
// whoever registered it. The time in which the thread could have run, but had no processor, is not the callback's and is left out.
// It is known to some twenty milliseconds, in favour of the callback.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/clock.h"

namespace pace::base {

// Where a callback was registered.
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
    // A callback that takes longer holds up everybody else.
    static constexpr Duration kLong = std::chrono::milliseconds(50);

    struct Step {
        Duration took{};
        std::string origin;
    };

    // Called in the loop's thread, after each step that was long.
    void set_handler(std::function<void(const Step&)> handler) { handler_ = std::move(handler); }

    // Before a callback. One thread.
    void begins(TimePoint at) {
        if (at - sampled_ >= kSampleEvery) sample(at);
    }
    // After it.
    void ended(TimePoint began, TimePoint at, Origin origin) {
        if (at - began > longest_.took || at - began >= kLong) judge(at - began, at, origin);
    }

    // Since the beginning.
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
    Duration waited_{};  // for a processor, this thread, until then
};

}  // namespace pace::base
