// The driver's functions for host memory that devices copy from and to. Nothing is pinned. The
// library only remembers registered memory.
#include "tests/simulated_gpu/driver/host_memory.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

#include "tests/simulated_gpu/driver/contexts.h"
#include "tests/simulated_gpu/driver/state/driver.h"

namespace pace::simulated_gpu {

namespace {

// The flags portable, device map, I/O memory and read only.
constexpr unsigned kRegisterFlagsKnown = 0xF;

// The addresses of the host's memory on a device: others than the host's, so that a mix-up shows.
constexpr CUdeviceptr kMapped = CUdeviceptr{1} << 62U;

struct HostRange {
    size_t bytes = 0;
    const Context* context = nullptr;
};

struct HostRanges {
    std::mutex mutex;
    std::map<uintptr_t, HostRange> by_start;
};

HostRanges& host_ranges() {
    static HostRanges& all = *new HostRanges;
    return all;
}

bool overlaps_one(uintptr_t start, size_t bytes) {
    const auto& all = host_ranges().by_start;
    const auto next = all.lower_bound(start + bytes);
    if (next == all.begin()) return false;
    const auto& [before, range] = *std::prev(next);
    return before + range.bytes > start;
}

}  // namespace

void forget_host_memory(const Context* context) {
    const std::scoped_lock lock(host_ranges().mutex);
    std::erase_if(host_ranges().by_start,
                  [&](const auto& entry) { return entry.second.context == context; });
}

bool is_registered(const void* memory, size_t bytes) {
    const auto start = reinterpret_cast<uintptr_t>(memory);
    const std::scoped_lock lock(host_ranges().mutex);
    const auto& all = host_ranges().by_start;
    const auto next = all.upper_bound(start);
    if (next == all.begin()) return false;
    const auto& [before, range] = *std::prev(next);
    return start + bytes <= before + range.bytes;
}

bool with_word(CUdeviceptr address, const std::function<void(std::atomic<uint64_t>&)>& use) {
    const auto place = static_cast<uintptr_t>(address & ~kMapped);
    const std::scoped_lock lock(host_ranges().mutex);
    if ((address & kMapped) == 0 || place % sizeof(uint64_t) != 0 || !overlaps_one(place, 1))
        return false;
    use(*reinterpret_cast<std::atomic<uint64_t>*>(place));
    return true;
}

CUresult mem_host_register(void* memory, size_t bytes, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    if (memory == nullptr || bytes == 0 || (flags & ~kRegisterFlagsKnown) != 0)
        return kInvalidValue;
    const auto start = reinterpret_cast<uintptr_t>(memory);
    const std::scoped_lock lock(host_ranges().mutex);
    if (overlaps_one(start, bytes)) return kAlreadyRegistered;
    host_ranges().by_start[start] = {bytes, current.context};
    return kSuccess;
}

CUresult mem_host_device_pointer(CUdeviceptr* ret_address, void* memory, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    const auto address = reinterpret_cast<uintptr_t>(memory);
    const std::scoped_lock lock(host_ranges().mutex);
    if (ret_address == nullptr || flags != 0 || !overlaps_one(address, 1)) return kInvalidValue;
    *ret_address = address | kMapped;
    return kSuccess;
}

CUresult mem_host_unregister(void* memory) {
    const Current current = current_context();
    if (!current) return current.result;
    const std::scoped_lock lock(host_ranges().mutex);
    const auto start = reinterpret_cast<uintptr_t>(memory);
    return host_ranges().by_start.erase(start) == 0 ? kNotRegistered : kSuccess;
}

}  // namespace pace::simulated_gpu
