// The driver's functions for memory that is mapped at its creation, and that another process opens
// by a handle.
#include "tests/simulated_gpu/driver/plain_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "tests/simulated_gpu/driver/allocation.h"
#include "tests/simulated_gpu/driver/contexts.h"
#include "tests/simulated_gpu/driver/state/driver.h"
#include "tests/simulated_gpu/driver/state/settings.h"

namespace pace::simulated_gpu {

namespace {

constexpr size_t kPageBytes = 4096;

// An allocation of this process, or one of another process that was opened here `openings` times.
struct Block {
    const Context* context = nullptr;
    std::shared_ptr<Allocation> allocation;
    unsigned openings = 0;  // 0 means an allocation of this process
};

struct Blocks {
    std::mutex mutex;
    std::map<CUdeviceptr, Block> by_address;
};

Blocks& blocks() {
    static Blocks& all = *new Blocks;
    return all;
}

// Returns the block that contains the address, or the end. The caller holds the lock.
auto block_around(CUdeviceptr address) {
    auto& all = blocks().by_address;
    const auto after = all.upper_bound(address);
    if (after == all.begin()) return all.end();
    const auto before = std::prev(after);
    return address - before->first < before->second.allocation->bytes() ? before : all.end();
}

void* start_of(CUdeviceptr address) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

// Returns 0 if no memory or addresses are left.
CUdeviceptr map_whole(const Allocation& allocation) {
    void* const address = mmap(nullptr, allocation.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
                               allocation.file().descriptor(), 0);
    return address == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(address);
}

// The block must not be used afterwards.
void unmap_block(CUdeviceptr address, const Block& block) {
    munmap(start_of(address), block.allocation->bytes());
}

}  // namespace

void forget_plain_memory(const Context* context) {
    const std::scoped_lock lock(blocks().mutex);
    auto& all = blocks().by_address;
    for (const auto& [address, block] : all)
        if (block.context == context) unmap_block(address, block);
    std::erase_if(all, [&](const auto& entry) { return entry.second.context == context; });
}

CUresult mem_get_info(size_t* ret_free, size_t* ret_total) {
    const Current current = current_context();
    if (!current) return current.result;
    if (ret_free == nullptr || ret_total == nullptr) return kInvalidValue;
    *ret_free = free_bytes(current.context->ordinal());
    *ret_total = settings().bytes;
    return kSuccess;
}

CUresult mem_alloc(CUdeviceptr* ret_address, size_t bytes) {
    const Current current = current_context();
    if (!current) return current.result;
    if (ret_address == nullptr || bytes == 0) return kInvalidValue;
    if (bytes > settings().bytes) return kOutOfMemory;
    const size_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    auto allocation = Allocation::create(current.context->ordinal(), rounded, false);
    if (allocation == nullptr) return kOutOfMemory;
    const CUdeviceptr address = map_whole(*allocation);
    if (address == 0) return kOutOfMemory;
    const std::scoped_lock lock(blocks().mutex);
    blocks().by_address[address] = {current.context, std::move(allocation), 0};
    *ret_address = address;
    return kSuccess;
}

// Does not wait for streams that still use the memory, though the real driver may.
CUresult mem_free(CUdeviceptr address) {
    const Current current = current_context();
    if (!current) return current.result;
    if (address == 0) return kSuccess;
    const std::scoped_lock lock(blocks().mutex);
    const auto found = blocks().by_address.find(address);
    if (found == blocks().by_address.end() || found->second.openings > 0) return kInvalidValue;
    unmap_block(address, found->second);
    blocks().by_address.erase(found);
    return kSuccess;
}

CUresult mem_get_range(CUdeviceptr* ret_base, size_t* ret_bytes, CUdeviceptr address) {
    const Current current = current_context();
    if (!current) return current.result;
    const std::scoped_lock lock(blocks().mutex);
    const auto found = block_around(address);
    if (found == blocks().by_address.end()) return kInvalidValue;
    if (ret_base != nullptr) *ret_base = found->first;
    if (ret_bytes != nullptr) *ret_bytes = found->second.allocation->bytes();
    return kSuccess;
}

CUresult pointer_get_attribute(void* ret_value, int attribute, CUdeviceptr address) {
    const std::scoped_lock lock(blocks().mutex);
    const auto found = block_around(address);
    if (found == blocks().by_address.end() || attribute != kPointerDevice) return kInvalidValue;
    *static_cast<int*>(ret_value) = found->second.context->ordinal();
    return kSuccess;
}

CUresult ipc_get_mem_handle(CUipcMemHandle* ret_handle, CUdeviceptr address) {
    const Current current = current_context();
    if (!current) return current.result;
    if (ret_handle == nullptr) return kInvalidValue;
    const std::scoped_lock lock(blocks().mutex);
    const auto found = blocks().by_address.find(address);
    if (found == blocks().by_address.end() || found->second.openings > 0) return kInvalidValue;
    *ret_handle = std::bit_cast<CUipcMemHandle>(found->second.allocation->file().ticket());
    return kSuccess;
}

CUresult ipc_open_mem_handle(CUdeviceptr* ret_address, CUipcMemHandle handle, unsigned flags) {
    const Current current = current_context();
    if (!current) return current.result;
    if (ret_address == nullptr || flags != kIpcLazyPeerAccess) return kInvalidValue;
    const auto ticket = std::bit_cast<Ticket>(handle);
    if (ticket.process == getpid()) return kInvalidContext;
    auto file = SharedFile::of_ticket(SharedFile::Kind::memory, ticket);
    if (!file) return kInvalidHandle;
    if (!is_device(file->device() - number_on_machine(0))) return kMapFailed;
    const std::scoped_lock lock(blocks().mutex);
    for (auto& [address, block] : blocks().by_address) {
        if (block.context != current.context || block.allocation->file().name() != file->name())
            continue;
        ++block.openings;
        *ret_address = address;
        return kSuccess;
    }
    auto allocation = Allocation::import(std::move(*file));
    const CUdeviceptr address = map_whole(*allocation);
    if (address == 0) return kMapFailed;
    blocks().by_address[address] = {current.context, std::move(allocation), 1};
    *ret_address = address;
    return kSuccess;
}

CUresult ipc_close_mem_handle(CUdeviceptr address) {
    const Current current = current_context();
    if (!current) return current.result;
    const std::scoped_lock lock(blocks().mutex);
    const auto found = blocks().by_address.find(address);
    if (found == blocks().by_address.end() || found->second.openings == 0) return kInvalidValue;
    if (--found->second.openings > 0) return kSuccess;
    unmap_block(address, found->second);
    blocks().by_address.erase(found);
    return kSuccess;
}

}  // namespace pace::simulated_gpu
