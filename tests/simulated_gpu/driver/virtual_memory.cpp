// The driver's functions for memory whose addresses are reserved, mapped and made accessible in
// separate steps. The memory is exported by descriptor.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "tests/simulated_gpu/driver/allocation.h"
#include "tests/simulated_gpu/driver/contexts.h"
#include "tests/simulated_gpu/driver/state/driver.h"
#include "tests/simulated_gpu/driver/state/handles.h"
#include "tests/simulated_gpu/driver/state/settings.h"

namespace pace::simulated_gpu {

namespace {

using AllocationHandles = Handles<CUmemGenericAllocationHandle, Allocation>;

AllocationHandles& allocations() {
    static auto& all = *new AllocationHandles(uint64_t{4} << 40U);
    return all;
}

struct Mapping {
    size_t bytes = 0;
    std::shared_ptr<Allocation> allocation;
};

struct Reservation {
    size_t bytes = 0;
    std::map<CUdeviceptr, Mapping> mappings;
};

struct AddressSpace {
    std::mutex mutex;
    std::map<CUdeviceptr, Reservation> reservations;
};

AddressSpace& address_space() {
    static AddressSpace& all = *new AddressSpace;
    return all;
}

bool is_granular(uint64_t number) {
    return number % kGranularity == 0;
}

void* at(CUdeviceptr address) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

// Returns addresses that no other caller gets and that cannot be accessed. Returns null if none are
// left.
void* map_nothing(void* where, size_t bytes) {
    const int fixed = where == nullptr ? 0 : MAP_FIXED;
    void* const address =
        mmap(where, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    return address == MAP_FAILED ? nullptr : address;
}

// Returns the reservation that contains the whole range. Returns null if there is none.
Reservation* find_reservation(CUdeviceptr address, size_t bytes) {
    auto& all = address_space().reservations;
    const auto next = all.upper_bound(address);
    if (next == all.begin()) return nullptr;
    auto& [start, reservation] = *std::prev(next);
    const uint64_t offset = address - start;
    const bool inside = offset < reservation.bytes && bytes <= reservation.bytes - offset;
    return inside ? &reservation : nullptr;
}

// Returns whether the mappings of a reservation leave no hole in a range. With `whole`, they must
// not reach beyond the range either.
bool is_mapped(const Reservation& reservation, CUdeviceptr address, size_t bytes, bool whole) {
    const CUdeviceptr end = address + bytes;
    auto mapping = reservation.mappings.upper_bound(address);
    if (mapping == reservation.mappings.begin()) return false;
    --mapping;
    if (whole && mapping->first != address) return false;
    CUdeviceptr reached = address;
    for (; mapping != reservation.mappings.end() && reached < end; ++mapping) {
        const CUdeviceptr mapping_end = mapping->first + mapping->second.bytes;
        if (mapping->first > reached || mapping_end <= reached) return false;
        reached = mapping_end;
    }
    return whole ? reached == end : reached >= end;
}

bool is_free(const Reservation& reservation, CUdeviceptr address, size_t bytes) {
    const auto next = reservation.mappings.lower_bound(address + bytes);
    if (next == reservation.mappings.begin()) return true;
    const auto& [start, mapping] = *std::prev(next);
    return start + mapping.bytes <= address;
}

// If there are several descriptions, returns the most generous one, since all devices share one
// memory here.
std::optional<int> protection_of(const CUmemAccessDesc* access, size_t count) {
    int protection = PROT_NONE;
    for (size_t i = 0; i < count; ++i) {
        if (access[i].location.type != kLocationDevice || !is_device(access[i].location.id))
            return std::nullopt;
        if (access[i].flags != 0) protection |= PROT_READ;
        if (access[i].flags == kAccessReadWrite) protection |= PROT_WRITE;
    }
    return protection;
}

CUresult check_properties(const CUmemAllocationProp* properties) {
    if (properties == nullptr || properties->type != kAllocationPinned ||
        properties->location.type != kLocationDevice)
        return kInvalidValue;
    if (!is_device(properties->location.id)) return kInvalidDevice;
    const bool known = (properties->requestedHandleTypes & ~kHandleFd) == 0;
    return known ? kSuccess : kNotSupported;
}

}  // namespace

CUresult mem_granularity(size_t* ret_granularity, const CUmemAllocationProp* properties, int) {
    if (!settings().virtual_memory) return kNotSupported;
    if (ret_granularity == nullptr) return kInvalidValue;
    *ret_granularity = kGranularity;
    return check_properties(properties);
}

CUresult mem_create(CUmemGenericAllocationHandle* ret_handle, size_t bytes,
                    const CUmemAllocationProp* properties, unsigned long long flags) {
    if (!settings().virtual_memory) return kNotSupported;
    if (const CUresult wrong = check_properties(properties); wrong != kSuccess) return wrong;
    if (ret_handle == nullptr || flags != 0 || bytes == 0 || !is_granular(bytes))
        return kInvalidValue;
    auto allocation = Allocation::create(properties->location.id, bytes,
                                         properties->requestedHandleTypes == kHandleFd);
    if (allocation == nullptr) return kOutOfMemory;
    *ret_handle = allocations().add(std::move(allocation));
    return kSuccess;
}

// Mapped memory stays.
CUresult mem_release(CUmemGenericAllocationHandle handle) {
    return allocations().take(handle) == nullptr ? kInvalidValue : kSuccess;
}

CUresult mem_export(void* ret_descriptor, CUmemGenericAllocationHandle handle, int type,
                    unsigned long long flags) {
    const auto allocation = allocations().find(handle);
    if (ret_descriptor == nullptr || allocation == nullptr || !allocation->exportable() ||
        type != kHandleFd || flags != 0)
        return kInvalidValue;
    const int descriptor = fcntl(allocation->file().descriptor(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return kOutOfMemory;
    std::memcpy(ret_descriptor, &descriptor, sizeof(descriptor));
    return kSuccess;
}

// The descriptor stays the caller's.
CUresult mem_import(CUmemGenericAllocationHandle* ret_handle, void* descriptor, int type) {
    if (!settings().virtual_memory) return kNotSupported;
    if (ret_handle == nullptr || type != kHandleFd) return kInvalidValue;
    auto file = SharedFile::of_descriptor(SharedFile::Kind::memory,
                                          static_cast<int>(reinterpret_cast<intptr_t>(descriptor)));
    if (!file) return kInvalidValue;
    if (!is_device(file->device() - number_on_machine(0))) return kNotSupported;
    *ret_handle = allocations().add(Allocation::import(std::move(*file)));
    return kSuccess;
}

// The address hint is ignored, which the caller must expect.
CUresult mem_reserve(CUdeviceptr* ret_address, size_t bytes, size_t alignment, CUdeviceptr,
                     unsigned long long flags) {
    if (!settings().virtual_memory) return kNotSupported;
    const bool aligned = alignment == 0 || std::has_single_bit(alignment);
    if (ret_address == nullptr || bytes == 0 || !is_granular(bytes) || !aligned || flags != 0)
        return kInvalidValue;
    const size_t step = std::max(alignment, kGranularity);
    void* const all = map_nothing(nullptr, bytes + step);
    if (all == nullptr) return kOutOfMemory;
    // The surplus at both ends is released.
    const auto start = reinterpret_cast<uintptr_t>(all);
    const uintptr_t address = (start + step - 1) / step * step;
    if (address > start) munmap(all, address - start);
    if (const size_t rest = start + step - address; rest > 0) munmap(at(address + bytes), rest);
    const std::scoped_lock lock(address_space().mutex);
    address_space().reservations[address].bytes = bytes;
    *ret_address = address;
    return kSuccess;
}

CUresult mem_free_addresses(CUdeviceptr address, size_t bytes) {
    const std::scoped_lock lock(address_space().mutex);
    const auto found = address_space().reservations.find(address);
    if (found == address_space().reservations.end() || found->second.bytes != bytes ||
        !found->second.mappings.empty())
        return kInvalidValue;
    munmap(at(address), bytes);
    address_space().reservations.erase(found);
    return kSuccess;
}

CUresult mem_map(CUdeviceptr address, size_t bytes, size_t offset,
                 CUmemGenericAllocationHandle handle, unsigned long long flags) {
    const auto allocation = allocations().find(handle);
    if (allocation == nullptr || bytes == 0 || bytes > allocation->bytes() || offset != 0 ||
        flags != 0 || !is_granular(address) || !is_granular(bytes))
        return kInvalidValue;
    const std::scoped_lock lock(address_space().mutex);
    Reservation* const reservation = find_reservation(address, bytes);
    if (reservation == nullptr || !is_free(*reservation, address, bytes)) return kInvalidValue;
    if (mmap(at(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, allocation->file().descriptor(),
             0) == MAP_FAILED)
        return kOutOfMemory;
    reservation->mappings.emplace(address, Mapping{bytes, allocation});
    return kSuccess;
}

CUresult mem_unmap(CUdeviceptr address, size_t bytes) {
    const std::scoped_lock lock(address_space().mutex);
    Reservation* const reservation = find_reservation(address, bytes);
    if (reservation == nullptr || !is_mapped(*reservation, address, bytes, true))
        return kInvalidValue;
    if (map_nothing(at(address), bytes) == nullptr) return kOutOfMemory;
    auto& mappings = reservation->mappings;
    mappings.erase(mappings.lower_bound(address), mappings.lower_bound(address + bytes));
    return kSuccess;
}

CUresult mem_set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access,
                        size_t count) {
    if (access == nullptr || count == 0) return kInvalidValue;
    const std::optional<int> protection = protection_of(access, count);
    if (!protection) return kInvalidDevice;
    const std::scoped_lock lock(address_space().mutex);
    Reservation* const reservation = find_reservation(address, bytes);
    if (reservation == nullptr || bytes == 0 || !is_mapped(*reservation, address, bytes, false))
        return kInvalidValue;
    return mprotect(at(address), bytes, *protection) == 0 ? kSuccess : kInvalidValue;
}

}  // namespace pace::simulated_gpu
