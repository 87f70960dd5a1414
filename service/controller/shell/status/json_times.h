// Times as the status document has them.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace pace::controller {

inline double milliseconds(base::Duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace pace::controller
