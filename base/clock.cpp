#include "base/clock.h"

namespace pace::base {

uint64_t now_ns() {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now().time_since_epoch()).count());
}

}  // namespace pace::base
