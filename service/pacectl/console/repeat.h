// repeat: polls something that offers no way to wait for changes.
#pragma once

#include <functional>

#include "base/result.h"

namespace pace::pacectl {

enum class Ended { done, time_over, signal };

// Calls `look` at once and every `interval_s` until it returns true, `for_s` is over (0: never), or
// a signal asks to end.
base::Result<Ended> repeat(double interval_s, double for_s, const std::function<bool()>& look);

}  // namespace pace::pacectl
