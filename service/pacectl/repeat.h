// repeat: looks again and again at something that offers nothing to wait on.
#pragma once

#include <functional>

#include "base/result.h"

namespace pace::pacectl {

enum class Ended { done, time_over, signal };

// Calls `look` at once and every `interval_s`, until it says that it is done, `for_s` is over (0: never), or a signal
// wishes the end.
base::Result<Ended> repeat(double interval_s, double for_s, const std::function<bool()>& look);

}  // namespace pace::pacectl
