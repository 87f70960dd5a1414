// Devices as callers name them, with DLPack's numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "capi/guard.h"
#include "capi/pace.h"

namespace pace::capi {

// Returns the number of the named GPU. Returns nothing for the host or for no device.
inline std::optional<uint32_t> gpu_of(pace_device device) {
    if (device.type != PACE_DEVICE_CUDA) return {};
    return static_cast<uint32_t>(device.id);
}

// Returns nothing if this library is built for the device. Otherwise reports the error with the
// argument's name and returns the status.
inline std::optional<pace_status> refuse_device(pace_device device, std::string_view name,
                                                pace_error* error) {
    const bool is_host = device.type == 0 || device.type == PACE_DEVICE_CPU;
    if (!is_host && device.type != PACE_DEVICE_CUDA)
        return report(error, PACE_E_UNSUPPORTED,
                      fmt::format("{}.type is {}; this library is built for PACE_DEVICE_CPU and "
                                  "PACE_DEVICE_CUDA",
                                  name, device.type));
    if (device.id < 0 || (is_host && device.id != 0))
        return report(error, PACE_E_INVALID,
                      fmt::format("{}.id is {}; give {}", name, device.id,
                                  is_host ? "0 with the host" : "the number of a GPU, from 0 on"));
    return {};
}

// Refuses a stream whose GPU is not named. `prefix` stands before the names of both fields, for
// example "options->call.".
inline base::Result<> check_stream(const void* stream, pace_device device,
                                   std::string_view prefix) {
    if (stream == nullptr || gpu_of(device)) return {};
    return base::make_error(base::ErrorKind::invalid,
                            "{0}stream is given without its GPU; name that in {0}device", prefix);
}

}  // namespace pace::capi
