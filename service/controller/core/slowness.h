// Slowness: who of a job holds it up, by how much, since when and why, as far as can be told from what daemons say.
//
// A worker is slow that was stopped by a signal; whose node is not heard; that computes half as long again as the median worker, or does so now
// for far longer than a step takes; whose node's links take three times as long as those of the median node, where exchanges take a
// good part of the time. One that waits for long is slow only if nobody else is: it is held up, and does not hold up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

enum class SlowWhy : uint8_t { computing, link, stopped, waiting };

std::string_view name_of(SlowWhy why);

struct Slowness {
    SlowWhy why = SlowWhy::computing;
    double factor = 1;  // of what the median worker takes
    Duration since{};   // for so long
    std::string text;   // why it is thought so, in a sentence
};

// What is looked at of a worker that takes part.
struct Pace {
    Rank rank = 0;
    Activity activity = Activity::unknown;
    Duration active{};                // for so long
    std::optional<Duration> stopped;  // for so long, by a signal
    std::optional<Duration> silent;   // its node, which may be lost
    Duration step{};                  // median; 0: not known
    Duration exchange{};              // median; 0: not known
    Duration mebibyte{};              // on its node's links; 0: not measured
};

class SlowWorkers {
  public:
    // Remembers since when somebody is slow whose slowness has no beginning of its own.
    void look(const std::vector<Pace>& paces, TimePoint now);
    // When look() is due again: what it looks at changes with heartbeats, and costs as much as there are workers.
    bool is_due(TimePoint now) const { return now >= due_; }

    // Of each of `paces`, one by one.
    std::vector<std::optional<Slowness>> judge(const std::vector<Pace>& paces, TimePoint now) const;

  private:
    struct Known {
        SlowWhy why;
        TimePoint since;
    };
    std::map<Rank, Known> known_;
    TimePoint due_{};
};

}  // namespace pace::controller
