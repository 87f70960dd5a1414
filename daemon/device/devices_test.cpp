// Devices tests: with the simulated driver, which GPUs are found, opened, refused and reported.
#include "daemon/device/devices.h"

#include <poll.h>
#include <sys/mman.h>

#include <cstring>

#include <gtest/gtest.h>

#include "daemon/device/device_claim.h"
#include "daemon/device/device_memory.h"
#include "daemon/device/devices_fixture.h"
#include "daemon/device/plugin_loader.h"
#include "daemon/device/shared_events.h"
#include "daemon/device/shared_words.h"

namespace pace::device {
namespace {

using base::ErrorKind;
using base::Result;
using base::cuda::CUstream;

class DevicesTest : public SimulatedDevices {
  protected:
    // Waits until all queued work has ended.
    Result<> await(Device& device, CUstream stream) {
        std::optional<Result<>> ended;
        device.when_done(stream, [&](const Result<>& result) { ended = result; });
        while (!ended) loop_->turn(true);
        return *ended;
    }
    // Returns the error of opening this plug-in.
    std::string complaint(const char* folder) {
        Devices others(*loop_, {false, folder});
        others.look();
        const auto device = others.find(others.list().front().facts.uuid);
        EXPECT_TRUE(device);
        const auto kernels = others.kernels(**device);
        EXPECT_FALSE(kernels);
        return kernels ? "" : kernels.error().message;
    }
};

TEST_F(DevicesTest, TheGpusAreToldOfBeforeOneIsOpened) {
    const auto found = devices_->list();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].facts.name, "simulated GPU");
    EXPECT_FALSE(found[0].open);
    EXPECT_EQ(devices_->absence(), "");
    devices_->open_all();
    const auto opened = devices_->list();
    EXPECT_TRUE(opened[0].open);
    EXPECT_GT(opened[0].free_bytes, 0U);
    EXPECT_EQ(opened[0].kernels, "simulated 1");
}

TEST_F(DevicesTest, ADeviceOfAnotherNumberIsNotFoundAndThoseThatAreThereAreNamed) {
    base::cuda::CUuuid other{};
    other.bytes[0] = 1;
    const auto found = devices_->find(other);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::not_found);
    EXPECT_NE(found.error().message.find("it has GPU-"), std::string::npos);
}

TEST_F(DevicesTest, SwitchedOffMeansNone) {
    Devices off(*loop_, {true, ""});
    EXPECT_EQ(off.absence(), "nobody has asked for one yet");
    off.look();
    EXPECT_TRUE(off.list().empty());
    EXPECT_NE(off.absence().find("`gpu` is off"), std::string::npos);
    const auto found = off.find({});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::not_found);
}

TEST_F(DevicesTest, APluginThatDoesNotFitIsRefusedWithTheReason) {
    EXPECT_NE(complaint(simulated_gpu::kOtherVersion).find("install both from the same Pace"),
              std::string::npos);
    EXPECT_NE(complaint(simulated_gpu::kWithoutEntry).find("exports no pace_device_plugin"),
              std::string::npos);
    EXPECT_NE(complaint(simulated_gpu::kIncomplete).find("leaves functions out"),
              std::string::npos);
    EXPECT_NE(complaint(simulated_gpu::kRefusing).find("does not work with simulated GPU"),
              std::string::npos);
    const std::string newer = complaint(simulated_gpu::kNewerCuda);
    EXPECT_EQ(
        newer.find("the plug-in is built with CUDA 99.0, which this machine's driver, of CUDA "),
        0U)
        << newer;
    EXPECT_NE(newer.find("; install a driver of CUDA 99, or the plug-in"), std::string::npos)
        << newer;
    EXPECT_NE(complaint("/nowhere").find("there is no plug-in /nowhere/"), std::string::npos);
}

// A trainer's process may fail; its events then tell of that, also to this process.
TEST_F(DevicesTest, AnotherProcesssFailureIsNotTakenForThisOnes) {
    int failures = 0;
    Devices watched(*loop_, {.plugins = simulated_gpu::kPlugins,
                             .failed = [&](const base::Error&) { ++failures; }});
    watched.look();
    const auto device = watched.find(watched.list().front().facts.uuid);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_FALSE((*device)->check(base::cuda::kIllegalAddress, "query an event"));
    EXPECT_FALSE((*device)->check(base::cuda::kNotReady, "query an event"));
    EXPECT_EQ(failures, 0);
}

TEST_F(DevicesTest, TwoProcessesOnOneGpuKnowOfEachOther) {
    const auto mine = claim_device("GPU-of-this-test");
    ASSERT_TRUE(mine);
    // The owner is known however many ask.
    for (int asker = 0; asker < 20; ++asker) {
        const auto another = claim_device("GPU-of-this-test");
        ASSERT_FALSE(another);
        EXPECT_EQ(another.error().kind, ErrorKind::taken);
        EXPECT_NE(another.error().message.find(fmt::format("process {}", getpid())),
                  std::string::npos);
    }
}

TEST_F(DevicesTest, MemoryIsClearAndOutlivesNothing) {
    Device& device = first();
    const auto stream = device.create_stream();
    ASSERT_TRUE(stream);
    const uint64_t free = *device.free_bytes();
    {
        auto memory = DeviceMemory::create(device, 1000);
        ASSERT_TRUE(memory) << memory.error().message;
        EXPECT_GE(memory->size(), 1000U);
        EXPECT_GE(memory->fd(), 0);
        std::vector<char> bytes(1000, 'x');
        {
            const auto scope = device.enter();
            ASSERT_EQ(device.driver().copy_to_host(bytes.data(), memory->address(), 1000, *stream),
                      0);
        }
        ASSERT_TRUE(await(device, *stream));
        EXPECT_EQ(bytes, std::vector<char>(1000, 0));
        EXPECT_LT(*device.free_bytes(), free);
    }
    EXPECT_EQ(*device.free_bytes(), free);
    device.destroy_stream(*stream);
}

// The memory of the first owner is still being given back when the second asks.
TEST_F(DevicesTest, MemoryThatIsBeingGivenBackIsWaitedFor) {
    Device& device = first();
    const size_t most = *device.free_bytes() / 4 * 3;
    for (int times = 0; times < 3; ++times) {
        auto memory = DeviceMemory::create(device, most);
        ASSERT_TRUE(memory) << memory.error().message;
        DeviceMemory::share(std::move(*memory)).reset();
    }
    device.await_released();
    EXPECT_GE(*device.free_bytes(), most);
}

TEST_F(DevicesTest, TooMuchMemoryIsRefusedByName) {
    const auto memory = DeviceMemory::create(first(), size_t{1} << 40U);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().kind, ErrorKind::memory);
    EXPECT_NE(memory.error().message.find("simulated GPU"), std::string::npos);
}

TEST_F(DevicesTest, WhatFollowsAStreamWaitsForIt) {
    Device& device = first();
    const auto early = device.create_stream();
    const auto late = device.create_stream();
    ASSERT_TRUE(early && late);
    auto memory = DeviceMemory::create(device, 64);
    ASSERT_TRUE(memory);
    char byte = 'x';
    {
        const auto scope = device.enter();
        ASSERT_EQ(device.driver().set_bytes(memory->address(), 7, 64, *early), 0);
        ASSERT_TRUE(device.follow(*late, *early));
        ASSERT_EQ(device.driver().copy_to_host(&byte, memory->address(), 1, *late), 0);
    }
    ASSERT_TRUE(await(device, *late));
    EXPECT_EQ(byte, 7);
    ASSERT_TRUE(await(device, *early));
    device.destroy_stream(*early);
    device.destroy_stream(*late);
}

// Events that were never recorded count as reached, so the order of the callbacks follows from the
// order of add().
TEST_F(DevicesTest, EventsAreToldInTurnAndTheForgottenNever) {
    Device& device = first();
    base::cuda::CUevent event = nullptr;
    {
        const auto scope = device.enter();
        ASSERT_EQ(device.driver().event_create(&event, base::cuda::kEventDisableTiming), 0);
    }
    std::string told;
    const auto tells = [&](char name) {
        return [&told, name](const Result<>& result) { told += result ? name : '!'; };
    };
    const int one = 0;
    const int two = 0;
    device.event_watch().add(&one, event, tells('a'));
    device.event_watch().add(&two, event, tells('x'));
    device.event_watch().add(&one, nullptr, tells('b'));
    device.event_watch().add(&one, event, tells('c'));
    device.event_watch().forget(&two);
    while (told.size() < 3) loop_->turn(true);
    EXPECT_EQ(told, "abc");
    device.event_watch().add(&two, nullptr, [&](const Result<>&) {
        told += 'd';
        device.event_watch().add(&two, event, tells('e'));
    });
    while (told.size() < 5) loop_->turn(true);
    EXPECT_EQ(told, "abcde");
    const auto scope = device.enter();
    EXPECT_EQ(device.driver().event_destroy(event), 0);
}

TEST_F(DevicesTest, WordsThatAreNoneAreRefused) {
    constexpr uint32_t kSlots = 64;
    EXPECT_EQ(SharedWords::adopt(first(), base::UniqueFd(), kSlots).error().kind,
              ErrorKind::invalid);
    base::UniqueFd growing(memfd_create("words", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(growing.get(), kSlots * sizeof(base::cuda::SlotWords)), 0);
    EXPECT_EQ(SharedWords::adopt(first(), std::move(growing), kSlots).error().kind,
              ErrorKind::invalid)
        << "it could shrink";
    auto less = base::MappedMemfd::create("words", 1, true);
    ASSERT_TRUE(less);
    EXPECT_EQ(SharedWords::adopt(first(), base::UniqueFd(dup(less->fd())), 2 * kSlots).error().kind,
              ErrorKind::invalid);
}

TEST_F(DevicesTest, EventsThatAreNoneAreRefused) {
    std::vector<base::cuda::CUipcEventHandle> nonsense(3);
    std::memset(nonsense.data(), 0x5A, nonsense.size() * sizeof(nonsense[0]));
    const auto events = SharedEvents::open(first(), nonsense);
    ASSERT_FALSE(events);
    EXPECT_EQ(events.error().kind, ErrorKind::not_found);
    EXPECT_NE(events.error().message.find("share /dev/shm"), std::string::npos);
}

}  // namespace
}  // namespace pace::device
