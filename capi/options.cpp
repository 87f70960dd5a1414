#include "capi/options.h"

#include <chrono>

namespace pace::capi {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

// Longer waits count as waits without limit. Adding them to the clock would overflow.
constexpr int64_t kLongestMs = int64_t{1000} * 3600 * 24 * 365;

}  // namespace

base::Duration duration_of(int64_t milliseconds) {
    const bool is_endless = milliseconds == PACE_FOREVER || milliseconds > kLongestMs;
    return std::chrono::milliseconds(is_endless ? kLongestMs : milliseconds);
}

Result<TimePoint> deadline_of(int64_t timeout_ms) {
    if (timeout_ms == PACE_FOREVER || timeout_ms > kLongestMs) return TimePoint::max();
    if (timeout_ms < 0)
        return make_error(ErrorKind::invalid,
                          "timeout_ms is {}; give milliseconds, 0 to look once, or PACE_FOREVER",
                          timeout_ms);
    return base::now() + std::chrono::milliseconds(timeout_ms);
}

Result<> check_size(uint32_t struct_size, StructName name) {
    if (struct_size >= sizeof(struct_size) && struct_size <= kStructSizeMax) return {};
    return make_error(ErrorKind::invalid, "{}->struct_size is {}; initialise the struct with {}",
                      name.argument, struct_size, name.init);
}

Result<> check_tail(const void* given, uint32_t struct_size, size_t known, StructName name) {
    PACE_TRY(check_size(struct_size, name));
    const auto* bytes = static_cast<const unsigned char*>(given);
    for (size_t i = known; i < struct_size; ++i) {
        if (bytes[i] != 0)
            return make_error(ErrorKind::invalid,
                              "{} has a field at byte {} that this library ({}.{}.{}) does not "
                              "know; leave it zero, or update libpace",
                              name.argument, i, PACE_VERSION_MAJOR, PACE_VERSION_MINOR,
                              PACE_VERSION_PATCH);
    }
    return {};
}

Result<> check_reserved(uint64_t reserved, std::string_view name) {
    if (reserved == 0) return {};
    return make_error(ErrorKind::invalid, "{} is {}; leave it zero", name, reserved);
}

}  // namespace pace::capi
