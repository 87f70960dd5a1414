#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

constexpr size_t kStep = size_t{2} << 20U;

CUmemAllocationProp exportable(int ordinal = 0) {
    CUmemAllocationProp properties{};
    properties.type = kAllocationPinned;
    properties.requestedHandleTypes = kHandleFd;
    properties.location = {kLocationDevice, ordinal};
    return properties;
}

CUmemGenericAllocationHandle created(size_t bytes) {
    const CUmemAllocationProp wanted = exportable();
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(driver().mem_create(&handle, bytes, &wanted, 0), kSuccess);
    return handle;
}

CUdeviceptr reserved(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver().mem_reserve(&address, bytes, 0, 0, 0), kSuccess);
    return address;
}

void make_accessible(CUdeviceptr address, size_t bytes, int flags = kAccessReadWrite) {
    const CUmemAccessDesc access{{kLocationDevice, 0}, flags};
    EXPECT_EQ(driver().mem_set_access(address, bytes, &access, 1), kSuccess);
}

CUdeviceptr mapped(CUmemGenericAllocationHandle handle, size_t bytes) {
    const CUdeviceptr address = reserved(bytes);
    EXPECT_EQ(driver().mem_map(address, bytes, 0, handle, 0), kSuccess);
    make_accessible(address, bytes);
    return address;
}

int exported(CUmemGenericAllocationHandle handle) {
    int descriptor = -1;
    EXPECT_EQ(driver().mem_export(&descriptor, handle, kHandleFd, 0), kSuccess);
    return descriptor;
}

CUresult import(CUmemGenericAllocationHandle& ret_handle, int descriptor) {
    void* const as_handle = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
    return driver().mem_import(&ret_handle, as_handle, kHandleFd);
}

void set(CUdeviceptr address, unsigned char value, size_t bytes) {
    EXPECT_EQ(driver().set_bytes(address, value, bytes, nullptr), kSuccess);
    EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
}

unsigned char first_byte(CUdeviceptr address) {
    unsigned char byte = 0;
    EXPECT_EQ(driver().copy_to_host(&byte, address, 1, nullptr), kSuccess);
    EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
    return byte;
}

// The kernel tells whether memory can be read, without a signal.
bool is_readable(CUdeviceptr address) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const base::UniqueFd out(ends[0]);
    const base::UniqueFd in(ends[1]);
    return write(in.get(), reinterpret_cast<const void*>(address), 1) == 1;
}

size_t free_now() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(driver().mem_get_info(&free, &total), kSuccess);
    return free;
}

TEST(Memory, IsSeenByTheProcessThatImportsItsDescriptor) {
    apart({}, [] {
        Apart importer({}, [](Line& line) {
            const Gpu gpu;
            base::UniqueFd descriptor;
            EXPECT_EQ(line.receive<char>(&descriptor), 'd');
            CUmemGenericAllocationHandle handle = 0;
            ASSERT_EQ(import(handle, descriptor.get()), kSuccess);
            const CUdeviceptr address = mapped(handle, 2 * kStep);
            EXPECT_EQ(driver().mem_release(handle), kSuccess);
            EXPECT_EQ(first_byte(address + kStep), 7);
            set(address, 9, 1);
            line.tell();
            EXPECT_EQ(driver().mem_unmap(address, 2 * kStep), kSuccess);
            EXPECT_EQ(driver().mem_free_addresses(address, 2 * kStep), kSuccess);
        });
        const Gpu gpu;
        const CUmemGenericAllocationHandle handle = created(2 * kStep);
        const CUdeviceptr address = mapped(handle, 2 * kStep);
        set(address, 7, 2 * kStep);
        const base::UniqueFd descriptor(exported(handle));
        EXPECT_EQ(driver().mem_release(handle), kSuccess);
        importer.line().send('d', descriptor.get());
        importer.line().await();
        EXPECT_EQ(first_byte(address), 9);
        EXPECT_EQ(importer.end(), 0);
    });
}

TEST(Memory, CannotBeTouchedBeforeAccessIsGivenNorAfterItIsUnmapped) {
    apart({}, [] {
        const Gpu gpu;
        const CUmemGenericAllocationHandle handle = created(kStep);
        const CUdeviceptr address = reserved(kStep);
        EXPECT_FALSE(is_readable(address));
        EXPECT_EQ(driver().mem_map(address, kStep, 0, handle, 0), kSuccess);
        EXPECT_FALSE(is_readable(address));
        make_accessible(address, kStep);
        EXPECT_TRUE(is_readable(address));
        make_accessible(address, kStep, 0);
        EXPECT_FALSE(is_readable(address));
        EXPECT_EQ(driver().mem_unmap(address, kStep), kSuccess);
        EXPECT_FALSE(is_readable(address));
        EXPECT_EQ(driver().mem_free_addresses(address, kStep), kSuccess);
        EXPECT_EQ(driver().mem_release(handle), kSuccess);
    });
}

TEST(Memory, IsMappedIntoReservedAddressesAndUnmappedWholly) {
    apart({}, [] {
        const Gpu gpu;
        const CUmemGenericAllocationHandle handle = created(2 * kStep);
        const CUdeviceptr address = reserved(4 * kStep);
        const CUdeviceptr second = address + 2 * kStep;
        EXPECT_EQ(address % kStep, 0U);
        EXPECT_NE(driver().mem_map(address + 3 * kStep, 2 * kStep, 0, handle, 0), kSuccess);
        EXPECT_NE(driver().mem_map(address + 1, kStep, 0, handle, 0), kSuccess);
        EXPECT_NE(driver().mem_map(address, 3 * kStep, 0, handle, 0), kSuccess);
        EXPECT_EQ(driver().mem_map(second, 2 * kStep, 0, handle, 0), kSuccess);
        EXPECT_NE(driver().mem_map(address + kStep, 2 * kStep, 0, handle, 0), kSuccess);
        EXPECT_EQ(driver().mem_map(address, 2 * kStep, 0, handle, 0), kSuccess);
        make_accessible(address, 4 * kStep);
        set(address, 5, kStep);
        EXPECT_EQ(first_byte(second), 5) << "both are the same memory";
        EXPECT_NE(driver().mem_unmap(second, kStep), kSuccess);
        EXPECT_NE(driver().mem_free_addresses(address, 4 * kStep), kSuccess);
        EXPECT_EQ(driver().mem_unmap(second, 2 * kStep), kSuccess);
        const CUmemAccessDesc access{{kLocationDevice, 0}, kAccessReadWrite};
        EXPECT_NE(driver().mem_set_access(address, 4 * kStep, &access, 1), kSuccess);
        EXPECT_EQ(driver().mem_unmap(address, 2 * kStep), kSuccess);
        EXPECT_NE(driver().mem_free_addresses(address, 2 * kStep), kSuccess);
        EXPECT_EQ(driver().mem_free_addresses(address, 4 * kStep), kSuccess);
        EXPECT_EQ(driver().mem_release(handle), kSuccess);
        EXPECT_NE(driver().mem_release(handle), kSuccess);
    });
}

TEST(Memory, OfSizesThatAreNotGranularIsRefused) {
    apart({}, [] {
        const CUmemAllocationProp wanted = exportable();
        EXPECT_EQ(driver().init(0), kSuccess);
        size_t granularity = 0;
        EXPECT_EQ(driver().mem_granularity(&granularity, &wanted, kGranularityMinimum), kSuccess);
        EXPECT_EQ(granularity, kStep);
        CUmemGenericAllocationHandle handle = 0;
        EXPECT_EQ(driver().mem_create(&handle, kStep + 1, &wanted, 0), 1);
        const CUmemAllocationProp elsewhere = exportable(1);
        EXPECT_EQ(driver().mem_create(&handle, kStep, &elsewhere, 0), 101);
        CUmemAllocationProp unshared = exportable();
        unshared.requestedHandleTypes = 0;
        EXPECT_EQ(driver().mem_create(&handle, kStep, &unshared, 0), kSuccess);
        int descriptor = -1;
        EXPECT_EQ(driver().mem_export(&descriptor, handle, kHandleFd, 0), 1);
    });
}

TEST(Memory, WhatIsNotADevicesMemoryIsNotImported) {
    apart({}, [] {
        const Gpu gpu;
        CUmemGenericAllocationHandle handle = 0;
        const base::UniqueFd memory(memfd_create("no-gpu", MFD_CLOEXEC));
        EXPECT_EQ(ftruncate(memory.get(), kStep), 0);
        EXPECT_EQ(import(handle, memory.get()), 1);
        EXPECT_EQ(import(handle, -1), 1);
        const CUevent event = Gpu::event(kEventDisableTiming | kEventInterprocess);
        CUipcEventHandle event_handle{};
        EXPECT_EQ(driver().ipc_get_event_handle(&event_handle, event), kSuccess);
        CUdeviceptr address = 0;
        CUipcMemHandle garbage{};
        EXPECT_EQ(driver().ipc_open_mem_handle(&address, garbage, kIpcLazyPeerAccess), 400);
    });
}

TEST(Memory, OfADeviceThatThisProcessDoesNotSeeIsNotImported) {
    apart({{"PACE_SIMULATED_GPUS", "2"}}, [] {
        Apart importer({{"PACE_SIMULATED_GPUS", "1"}, {"PACE_SIMULATED_GPU_FIRST", "1"}},
                       [](Line& line) {
                           const Gpu gpu;
                           base::UniqueFd descriptor;
                           EXPECT_EQ(line.receive<char>(&descriptor), 'd');
                           CUmemGenericAllocationHandle handle = 0;
                           EXPECT_EQ(import(handle, descriptor.get()), 801);
                       });
        const Gpu gpu;
        const base::UniqueFd descriptor(exported(created(kStep)));
        importer.line().send('d', descriptor.get());
        EXPECT_EQ(importer.end(), 0);
    });
}

TEST(Memory, RunsOutAndIsGivenBackWithItsLastUse) {
    apart({{"PACE_SIMULATED_GPU_BYTES", std::to_string(3 * kStep)}}, [] {
        const Gpu gpu;
        EXPECT_EQ(free_now(), 3 * kStep);
        const CUmemGenericAllocationHandle handle = created(2 * kStep);
        const CUdeviceptr address = mapped(handle, 2 * kStep);
        CUmemGenericAllocationHandle refused = 0;
        const CUmemAllocationProp wanted = exportable();
        EXPECT_EQ(driver().mem_create(&refused, 2 * kStep, &wanted, 0), kOutOfMemory);
        CUdeviceptr plain = 0;
        EXPECT_EQ(driver().mem_alloc(&plain, kStep + 1), kOutOfMemory);
        EXPECT_EQ(driver().mem_alloc(&plain, kStep), kSuccess);
        EXPECT_EQ(free_now(), 0U);
        EXPECT_EQ(driver().mem_release(handle), kSuccess);
        EXPECT_EQ(free_now(), 0U) << "it is mapped still";
        EXPECT_EQ(driver().mem_unmap(address, 2 * kStep), kSuccess);
        EXPECT_EQ(free_now(), 2 * kStep);
        EXPECT_EQ(driver().mem_free(plain), kSuccess);
        EXPECT_EQ(driver().mem_free(plain), 1);
        EXPECT_EQ(free_now(), 3 * kStep);
        EXPECT_EQ(driver().mem_free_addresses(address, 2 * kStep), kSuccess);
    });
}

TEST(Memory, WithoutVirtualMemoryIsSeenByTheProcessThatOpensItsHandle) {
    apart({{"PACE_SIMULATED_GPU_NO_VMM", "1"}}, [] {
        Apart opener({}, [](Line& line) {
            const Gpu gpu;
            const auto handle = line.receive<CUipcMemHandle>();
            CUdeviceptr address = 0;
            CUdeviceptr again = 0;
            EXPECT_EQ(driver().ipc_open_mem_handle(&address, handle, 0), 1);
            ASSERT_EQ(driver().ipc_open_mem_handle(&address, handle, kIpcLazyPeerAccess), kSuccess);
            EXPECT_EQ(driver().ipc_open_mem_handle(&again, handle, kIpcLazyPeerAccess), kSuccess);
            EXPECT_EQ(again, address);
            EXPECT_EQ(first_byte(address), 7);
            EXPECT_EQ(driver().ipc_close_mem_handle(address), kSuccess);
            set(address, 9, 1);
            EXPECT_EQ(driver().mem_free(address), 1) << "it is the other process's";
            EXPECT_EQ(driver().ipc_close_mem_handle(address), kSuccess);
            EXPECT_EQ(driver().ipc_close_mem_handle(address), 1);
            line.tell();
            line.await();
            EXPECT_EQ(driver().ipc_open_mem_handle(&address, handle, kIpcLazyPeerAccess), 400);
        });
        const Gpu gpu;
        const CUmemAllocationProp wanted = exportable();
        CUmemGenericAllocationHandle refused = 0;
        EXPECT_EQ(driver().mem_create(&refused, kStep, &wanted, 0), 801);
        const CUdeviceptr address = Gpu::memory(1000);
        set(address, 7, 1000);
        CUipcMemHandle handle{};
        EXPECT_EQ(driver().ipc_get_mem_handle(&handle, address + 1), 1);
        EXPECT_EQ(driver().ipc_get_mem_handle(&handle, address), kSuccess);
        CUdeviceptr here = 0;
        EXPECT_EQ(driver().ipc_open_mem_handle(&here, handle, kIpcLazyPeerAccess), 201);
        opener.line().send(handle);
        opener.line().await();
        EXPECT_EQ(first_byte(address), 9);
        EXPECT_EQ(driver().mem_free(address), kSuccess);
        opener.line().tell();
        EXPECT_EQ(opener.end(), 0);
    });
}

TEST(Memory, OfTheHostIsRegisteredOnce) {
    apart({}, [] {
        const Gpu gpu;
        std::vector<char> bytes(3 * 4096);
        char* const memory = bytes.data();
        EXPECT_EQ(driver().mem_host_register(memory, 4096, kRegisterPortable), kSuccess);
        EXPECT_EQ(driver().mem_host_register(memory, 4096, kRegisterPortable), 712);
        EXPECT_EQ(driver().mem_host_register(memory + 4095, 4096, kRegisterPortable), 712);
        EXPECT_EQ(driver().mem_host_register(memory + 4096, 4096, kRegisterPortable), kSuccess);
        EXPECT_EQ(driver().mem_host_unregister(memory + 1), 713);
        EXPECT_EQ(driver().mem_host_unregister(memory), kSuccess);
        EXPECT_EQ(driver().mem_host_unregister(memory), 713);
        EXPECT_EQ(driver().mem_host_register(memory, 8192, kRegisterPortable), 712);
        EXPECT_EQ(driver().mem_host_register(memory, 4096, kRegisterPortable), kSuccess);
        EXPECT_EQ(driver().mem_host_register(memory, 0, kRegisterPortable), 1);
    });
}

}  // namespace
}  // namespace pace::simulated_gpu
