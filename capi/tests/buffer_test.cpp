// The memory that a buffer may use, and the errors for memory that a buffer may not use.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "capi/testing/calls.h"
#include "capi/tests/pace_fixture.h"

namespace pace::capi {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

base::UniqueFd memfd(uint64_t bytes, int seals = kSeals, unsigned flags = 0) {
    base::UniqueFd fd(memfd_create("trainer", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
    EXPECT_TRUE(fd.valid());
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return fd;
}

class BufferTest : public PaceFixture {
  protected:
    static pace_buffer_options pointing(void* pointer) {
        pace_buffer_options options = PACE_BUFFER_OPTIONS_INIT;
        options.source = PACE_POINTER;
        options.pointer = pointer;
        options.flags = PACE_MAY_STAGE;
        return options;
    }
    static pace_buffer_options of(int fd) {
        pace_buffer_options options = PACE_BUFFER_OPTIONS_INIT;
        options.source = PACE_FD;
        options.fd = fd;
        return options;
    }
    pace_status create(const pace_buffer_options& options, uint64_t count = kPage / 4) {
        return pace_buffer_create(session_, PACE_F32, count, &options, &buffer_, &data_, &error_);
    }
    void expect_refused(const pace_buffer_options& options, const char* argument, const char* word,
                        pace_status status = PACE_E_INVALID) {
        EXPECT_EQ(create(options), status);
        EXPECT_STREQ(error_.argument, argument) << error_.message;
        EXPECT_NE(std::string(error_.message).find(word), std::string::npos) << error_.message;
    }
    pace_buffer_info info() {
        pace_buffer_info info = PACE_BUFFER_INFO_INIT;
        EXPECT_EQ(pace_buffer_get_info(session_, buffer_, &info, &error_), PACE_OK);
        return info;
    }

    pace_buffer buffer_{};
    void* data_ = nullptr;
};

TEST_F(BufferTest, AMemfdIsSharedWithItsContents) {
    start();
    const auto fd = memfd(kPage);
    const float before = 7;
    ASSERT_EQ(pwrite(fd.get(), &before, sizeof(before), 0), std::ssize(std::array<char, 4>()));
    ASSERT_EQ(create(of(fd.get())), PACE_OK) << error_.message;
    EXPECT_EQ(*static_cast<float*>(data_), 7);
    // The daemon's mapping is the same memory.
    daemon_->with_peer([&](Peer& peer) {
        const auto& theirs = peer.buffers.begin()->second;
        EXPECT_TRUE(theirs.adopted);
        *reinterpret_cast<float*>(theirs.memory.data()) = 8;
    });
    EXPECT_EQ(*static_cast<float*>(data_), 8);
    EXPECT_EQ(info().flags, 0U);
    EXPECT_EQ(info().twin_bytes, 0U);
    // The descriptor stays the caller's.
    float after = 0;
    EXPECT_EQ(pread(fd.get(), &after, sizeof(after), 0), std::ssize(std::array<char, 4>()));
    EXPECT_EQ(after, 8);
    EXPECT_EQ(pace_buffer_free(session_, buffer_, &error_), PACE_OK);
    EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(BufferTest, ADescriptorThatCannotBeSharedIsRefusedByName) {
    start();
    expect_refused(of(-1), "fd", "PACE_FD");
    const auto closed = dup(0);
    close(closed);
    expect_refused(of(closed), "fd", "open descriptor");
    expect_refused(of(memfd(kPage, F_SEAL_SHRINK).get()), "fd", "F_SEAL_SHRINK");
    expect_refused(of(memfd(kPage, kSeals | F_SEAL_WRITE).get()), "fd", "cannot be shared");
    expect_refused(of(memfd(2 * kPage).get()), "fd", "8192 bytes");
    const base::UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
    expect_refused(of(file.get()), "fd", "memfd");
    daemon_->with_peer([](const Peer& peer) { EXPECT_TRUE(peer.buffers.empty()); });
}

TEST_F(BufferTest, ThePointerIsTheBuffersData) {
    start();
    std::vector<float> memory(kPage / 4, 1);
    ASSERT_EQ(create(pointing(memory.data())), PACE_OK) << error_.message;
    EXPECT_EQ(data_, memory.data());
    EXPECT_EQ(info().data, memory.data());
    EXPECT_EQ(info().flags, uint32_t{PACE_BUFFER_STAGED});
    EXPECT_EQ(info().twin_bytes, kPage);
}

// The result is larger than a piece of a copy (outside_memory.cpp).
TEST_F(BufferTest, WhoOnlyLooksCopiesAllOfAResult) {
    start();
    constexpr uint64_t kMany = uint64_t{1} << 20U;
    std::vector<float> memory(kMany, 1);
    ASSERT_EQ(create(pointing(memory.data()), kMany), PACE_OK) << error_.message;
    pace_request request{};
    int fd = -1;
    ASSERT_EQ(pace_session_get_fd(session_, &fd, &error_), PACE_OK);
    ASSERT_EQ(pace_sync(session_, Slices(&buffer_, 1), 1, nullptr, &request, &error_), PACE_OK);
    pollfd ended{fd, POLLIN, 0};
    ASSERT_EQ(poll(&ended, 1, 20'000), 1);
    EXPECT_EQ(pace_request_test(session_, request, nullptr, nullptr, &error_), PACE_OK)
        << error_.message;
}

TEST_F(BufferTest, DevicesThatCannotBeAreRefusedByName) {
    start();
    pace_buffer_options options = PACE_BUFFER_OPTIONS_INIT;
    options.device.type = PACE_DEVICE_ROCM;
    expect_refused(options, "device.type", "CUDA", PACE_E_UNSUPPORTED);
    options.device = {PACE_DEVICE_CPU, 1};
    expect_refused(options, "device.id", "0");
    options.device = {PACE_DEVICE_CUDA, -1};
    expect_refused(options, "device.id", "-1");
    EXPECT_EQ(data_, nullptr);
    EXPECT_EQ(buffer_.index, 0U);
}

TEST_F(BufferTest, TypesAreToldInTheWordsOfTensors) {
    start();
    for (const auto& [type, word, code, bits] :
         {std::tuple{PACE_F32, "<f4", 2, 32}, std::tuple{PACE_F64, "<f8", 2, 64},
          std::tuple{PACE_U32, "<u4", 1, 32}}) {
        ASSERT_EQ(pace_buffer_create(session_, type, 3, nullptr, &buffer_, &data_, &error_),
                  PACE_OK);
        EXPECT_STREQ(info().typestr, word);
        EXPECT_EQ(info().dl_type_code, code);
        EXPECT_EQ(info().dl_type_bits, bits);
        EXPECT_EQ(info().type, type);
    }
}

TEST_F(BufferTest, APointerIsRefusedByNameWhereItCannotBeCopied) {
    start();
    std::vector<float> memory(kPage / 4, 1);
    pace_buffer_options options = pointing(memory.data());
    options.flags = 0;
    expect_refused(options, "flags", "PACE_MAY_STAGE", PACE_E_UNSUPPORTED);
    options.flags = 2 | PACE_MAY_STAGE;
    expect_refused(options, "flags", "PACE_MAY_STAGE");
    expect_refused(pointing(nullptr), "pointer", "PACE_POINTER");
    expect_refused(pointing(reinterpret_cast<char*>(memory.data()) + 2), "pointer", "aligned");
    void* const unmapped = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect_refused(pointing(unmapped), "pointer", "4096 bytes");
    munmap(unmapped, kPage);
    options = pointing(memory.data());
    options.source = PACE_NEW;
    expect_refused(options, "pointer", "PACE_POINTER");
    options.source = 9;
    expect_refused(options, "source", "PACE_NEW");
    daemon_->with_peer([](const Peer& peer) { EXPECT_TRUE(peer.buffers.empty()); });
}

}  // namespace
}  // namespace pace::capi
