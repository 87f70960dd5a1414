#include "daemon/control/doubt.h"

#include <utility>

namespace pace::daemon {

void Doubt::answered(uint64_t number) {
    if (!asked_ || number < *asked_) return;
    asked_.reset();
    is_in_ = false;
    for (const auto& go_on : std::exchange(waiting_, {})) go_on();
}

void Doubt::when_sure(base::TimePoint now, std::function<void()> go_on) {
    if (is_at(now))
        waiting_.push_back(std::move(go_on));
    else
        go_on();
}

}  // namespace pace::daemon
