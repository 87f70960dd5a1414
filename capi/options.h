// The caller's structs, which may be older or newer than this library's structs.
//
// Each struct begins with its size as the caller's header knows it. A smaller struct lacks the
// fields that were appended since. These fields count as zero. A larger struct has fields that this
// library does not know. If one of these fields is not zero, the caller asks for a feature that
// would be ignored, and the struct is refused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "capi/pace.h"

namespace pace::capi {

// Structs grow by fields, not by kilobytes. No INIT macro has set a larger size.
inline constexpr uint32_t kStructSizeMax = 4096;

struct StructName {
    std::string_view argument;  // "options"
    std::string_view init;      // "PACE_SESSION_OPTIONS_INIT"
};

// Refuses a size that no INIT macro can have set.
base::Result<> check_size(uint32_t struct_size, StructName name);

// Like check_size. Also refuses bytes after `known` that are not zero.
base::Result<> check_tail(const void* given, uint32_t struct_size, size_t known, StructName name);

// Returns a copy of the caller's options in this library's shape. `given` must not be null.
template <typename Options>
base::Result<Options> read_options(const Options* given, StructName name) {
    uint32_t struct_size = 0;
    std::memcpy(&struct_size, static_cast<const void*>(given), sizeof(struct_size));
    PACE_TRY(check_tail(given, struct_size, sizeof(Options), name));
    Options options{};
    std::memcpy(static_cast<void*>(&options), static_cast<const void*>(given),
                std::min<size_t>(struct_size, sizeof(Options)));
    return options;
}

// Like read_options. Null means all defaults.
template <typename Options>
base::Result<Options> read_optional(const Options* given, StructName name) {
    if (given == nullptr) return Options{};
    return read_options(given, name);
}

// Fills as much of the caller's struct as its size says. check_size has seen the size.
template <typename Info>
void give(Info& ret_info, const Info& info) {
    std::memcpy(static_cast<void*>(&ret_info), static_cast<const void*>(&info),
                std::min<size_t>(ret_info.struct_size, sizeof(info)));
}

// Returns the duration. PACE_FOREVER and every time that is longer than a year count as a year.
base::Duration duration_of(int64_t milliseconds);

// Returns when a wait with this timeout ends.
base::Result<base::TimePoint> deadline_of(int64_t timeout_ms);

// Refuses a reserved field that is not zero.
base::Result<> check_reserved(uint64_t reserved, std::string_view name);

}  // namespace pace::capi
