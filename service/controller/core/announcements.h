// Announcements: workers that compute still, but have said that they will be ready, each with the time from which its group may
// form: an eighth of its usual step before it is expected, so that the order is there when it comes.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

class Announcements {
  public:
    explicit Announcements(uint32_t world) : noted_(world) {}

    // `due`: nothing if no step of it was measured yet; then the worker itself is awaited. Replaces an earlier one.
    void add(const From<Ready>& announced, std::optional<TimePoint> due);
    // False if there was none.
    bool remove(Rank rank);

    // Takes out one that is due; false if none is.
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

// When the group of a worker that began its step at `since` may form, if it takes this long for most.
constexpr TimePoint announcement_due(TimePoint since, Duration median_step) {
    return since + median_step - median_step / 8;
}

}  // namespace pace::controller
