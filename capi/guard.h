// The edge of the ABI. Every public function runs its body in guard(). guard() turns Errors and
// exceptions into a status and the caller's pace_error.
#pragma once

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "capi/argument.h"
#include "capi/pace.h"
#include "capi/status.h"

namespace pace::capi {

// Copies a text and cuts it if it is too long. The cut is between characters, not inside one
// (UTF-8).
template <size_t size>
void copy_text(char (&ret_field)[size], std::string_view text) noexcept {
    size_t bytes = std::min(text.size(), size - 1);
    while (bytes < text.size() && bytes > 0 &&
           (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
        --bytes;
    std::copy_n(text.data(), bytes, ret_field);
    ret_field[bytes] = '\0';
}

// Writes the caller's error if `error` is not null. Returns the status.
inline pace_status report(pace_error* error, pace_status status,
                          std::string_view message) noexcept {
    if (error == nullptr) return status;
    *error = pace_error{};
    error->status = status;
    copy_text(error->message, message);
    if (status == PACE_E_INVALID || status == PACE_E_UNSUPPORTED)
        copy_text(error->argument, argument_of(message));
    return status;
}

inline pace_status report(pace_error* error, const base::Error& cause) noexcept {
    return report(error, status_of_call(cause.kind), cause.message);
}

// Runs `body`, which returns Result<pace_status>, or Result<> for PACE_OK. A body that returns a
// status other than PACE_OK has reported the status.
template <typename Body>
pace_status guard(pace_error* error, Body body) noexcept {
    try {
        auto result = body();
        if (!result) return report(error, result.error());
        if constexpr (std::is_same_v<decltype(result), base::Result<pace_status>>) return *result;
        return PACE_OK;
    } catch (const std::bad_alloc&) {
        return report(error, PACE_E_MEMORY, "this process has no memory left; nothing was changed");
    } catch (const std::exception& exception) {
        return report(error, PACE_E_INTERNAL, exception.what());
    } catch (...) {
        return report(error, PACE_E_INTERNAL, "an exception that is not a std::exception");
    }
}

// Refuses a null argument. The error names the argument.
inline base::Result<> require(const void* argument, std::string_view name) {
    if (argument != nullptr) return {};
    return base::make_error(base::ErrorKind::invalid, "{} is NULL; it must point to something",
                            name);
}

}  // namespace pace::capi
