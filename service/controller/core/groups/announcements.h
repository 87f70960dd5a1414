// Announcements: workers that still compute, but have announced that they will be ready. Each has
// the time from which its group may form. This is an eighth of its usual step before its expected
// arrival, so that the order is there when the worker arrives.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class Announcements {
  public:
    explicit Announcements(uint32_t world) : noted_(world) {}

    // `due`: none if no step of the worker was measured yet; then its group waits for the worker
    // itself. Replaces an earlier announcement.
    void add(const From<Ready>& announced, std::optional<TimePoint> due);
    // False if there was no announcement.
    bool remove(Rank rank);

    // Takes one announcement that is due; false if none is.
    bool take_due(TimePoint now, From<Ready>& ret_announced);
    std::optional<TimePoint> next_due() const;

  private:
    struct Noted {
        From<Ready> announced;
        std::optional<TimePoint> due;
    };

    std::vector<std::optional<Noted>> noted_;
    std::set<std::pair<TimePoint, Rank>> by_due_;
};

// When the group of a worker may form. The worker began its step at `since`; its steps usually take
// `median_step`.
constexpr TimePoint announcement_due(TimePoint since, Duration median_step) {
    return since + median_step - median_step / 8;
}

}  // namespace pace::controller
