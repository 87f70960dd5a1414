// The devices, and the driver's answers about them.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "tests/simulated_gpu/driver/contexts.h"
#include "tests/simulated_gpu/driver/state/driver.h"
#include "tests/simulated_gpu/driver/state/process.h"
#include "tests/simulated_gpu/driver/state/settings.h"

namespace pace::simulated_gpu {

namespace {

constexpr int kVersion = 13000;  // CUDA 13.0, whose header the library follows
constexpr std::string_view kName = "simulated GPU";
// The number of the device follows in three bytes.
constexpr std::string_view kUuidStart = "simulated GPU";

}  // namespace

CUresult init(unsigned flags) {
    if (flags != 0 || !settings().valid) return kInvalidValue;
    if (settings().devices == 0) return kNoDevice;
    initialize_process();
    return kSuccess;
}

CUresult driver_get_version(int* ret_version) {
    if (ret_version == nullptr) return kInvalidValue;
    *ret_version = kVersion;
    return kSuccess;
}

CUresult device_get_count(int* ret_count) {
    if (ret_count == nullptr) return kInvalidValue;
    *ret_count = settings().devices;
    return kSuccess;
}

CUresult device_get(CUdevice* ret_device, int ordinal) {
    if (ret_device == nullptr) return kInvalidValue;
    if (!is_device(ordinal)) return kInvalidDevice;
    *ret_device = ordinal;
    return kSuccess;
}

CUresult device_get_name(char* ret_name, int room, CUdevice device) {
    if (!is_device(device)) return kInvalidDevice;
    if (ret_name == nullptr || room <= 0) return kInvalidValue;
    const size_t length = std::min(kName.size(), static_cast<size_t>(room) - 1);
    std::memcpy(ret_name, kName.data(), length);
    ret_name[length] = '\0';
    return kSuccess;
}

CUresult device_get_uuid(CUuuid* ret_uuid, CUdevice device) {
    if (!is_device(device)) return kInvalidDevice;
    if (ret_uuid == nullptr) return kInvalidValue;
    static_assert(kUuidStart.size() + 3 == sizeof(ret_uuid->bytes));
    std::memcpy(ret_uuid->bytes, kUuidStart.data(), kUuidStart.size());
    const auto number = static_cast<unsigned>(number_on_machine(device));
    for (size_t i = 0; i < 3; ++i)
        ret_uuid->bytes[kUuidStart.size() + i] = static_cast<char>(number >> (8 * (2 - i)));
    return kSuccess;
}

CUresult device_get_attribute(int* ret_value, int attribute, CUdevice device) {
    if (!is_device(device)) return kInvalidDevice;
    if (ret_value == nullptr) return kInvalidValue;
    switch (attribute) {
        case kAttributeMajor:
            *ret_value = 9;
            return kSuccess;
        case kAttributeMinor:
            *ret_value = 0;
            return kSuccess;
        case kAttributeVirtualMemory:
        case kAttributeMemoryFd:
            *ret_value = settings().virtual_memory ? 1 : 0;
            return kSuccess;
        case kAttributeComputeMode:
            *ret_value = settings().compute_mode;
            return kSuccess;
        case kAttributeMps:
            *ret_value = settings().mps;
            return kSuccess;
        case kAttributeStreamWords:
            *ret_value = settings().stream_words ? 1 : 0;
            return kSuccess;
        case kAttributePciDomain:
        case kAttributePciDevice:
            *ret_value = 0;
            return kSuccess;
        case kAttributePciBus:
            *ret_value = settings().instances ? 1 : 1 + number_on_machine(device);
            return kSuccess;
        case kAttributeIpcEvents:
            *ret_value = 1;
            return kSuccess;
        default:
            return kInvalidValue;
    }
}

CUresult device_total_mem(size_t* ret_bytes, CUdevice device) {
    if (!is_device(device)) return kInvalidDevice;
    if (ret_bytes == nullptr) return kInvalidValue;
    *ret_bytes = settings().bytes;
    return kSuccess;
}

// All devices of this machine reach each other. A device cannot be its own peer, as with the real
// driver.
CUresult device_can_access_peer(int* ret_can, CUdevice device, CUdevice peer) {
    if (!is_device(device) || !is_device(peer)) return kInvalidDevice;
    if (ret_can == nullptr) return kInvalidValue;
    *ret_can = device == peer ? 0 : 1;
    return kSuccess;
}

}  // namespace pace::simulated_gpu
