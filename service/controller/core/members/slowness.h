// Slowness: which workers hold up a job, by how much, since when and why, as daemons' reports tell.
//
// A worker is slow if a signal stopped it, or its node is not heard. It is slow if it computes half
// as long again as the median worker, or now for far longer than a step takes. It is slow if its
// node's links take three times as long as the median node's, where exchanges take a good part of
// the time. A worker that waits for long is slow only if nobody else is; otherwise it is held up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

enum class SlowWhy : uint8_t { computing, link, stopped, waiting };

std::string_view name_of(SlowWhy why);

struct Slowness {
    SlowWhy why = SlowWhy::computing;
    double factor = 1;  // relative to the median worker
    Duration since{};   // duration so far
    std::string text;   // the reason, in a sentence
};

// The observations of a worker that takes part.
struct Pace {
    Rank rank = 0;
    Activity activity = Activity::unknown;
    Duration active{};                // duration so far
    std::optional<Duration> stopped;  // time since a signal stopped it
    std::optional<Duration> silent;   // time since its node was heard; the node may be lost
    Duration step{};                  // median; 0: unknown
    Duration exchange{};              // median; 0: unknown
    Duration mebibyte{};              // on its node's links; 0: not measured
};

class SlowWorkers {
  public:
    // Remembers since when a worker is slow, for causes that have no start of their own.
    void look(const std::vector<Pace>& paces, TimePoint now);
    // Whether look() is due again. Its input changes with heartbeats, and its cost is proportional
    // to the number of workers.
    bool is_due(TimePoint now) const { return now >= due_; }

    // Judges each of `paces`, in the same order.
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
