// Memory rule tests: rules of pace.h about the memory of buffers. They say what memory a successor
// gets, who owns the pages, and what is charged.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

constexpr uint64_t kFloats = 1000;

pace_buffer_info info_of(const Worker& worker, pace_buffer buffer) {
    pace_buffer_info info = PACE_BUFFER_INFO_INIT;
    EXPECT_EQ(pace_buffer_get_info(worker.session(), buffer, &info, nullptr), PACE_OK);
    return info;
}

class MemoryRules : public testing::Test {
  protected:
    WorkerOptions of(uint32_t rank, uint32_t world) const {
        return {.endpoint = cluster_.endpoint(0), .rank = rank, .world = world};
    }

    Cluster cluster_{{.nodes = 1, .controller = false}};
    pace_error error_{};
};

// Returns a memfd with room for `elements` floats. A daemon may map it.
base::UniqueFd sealed(uint64_t elements) {
    base::UniqueFd fd(memfd_create("own", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(elements * sizeof(float))), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    return fd;
}

TEST_F(MemoryRules, OnlyTheDaemonsOwnMemoryIsWhatAnEarlierProcessHad) {
    constexpr uint64_t kPages = 1024 * 4;
    std::vector<float> heap(kPages, 4);
    const base::UniqueFd fd = sealed(kPages);
    pace_buffer_options pointer = PACE_BUFFER_OPTIONS_INIT;
    pointer.source = PACE_POINTER;
    pointer.flags = PACE_MAY_STAGE;
    pointer.pointer = heap.data();
    pace_buffer_options lent = PACE_BUFFER_OPTIONS_INIT;
    lent.source = PACE_FD;
    lent.fd = fd.get();
    const Worker other(of(1, 2));  // keeps the run alive
    ASSERT_EQ(other.opened(), PACE_OK) << other.complaint();
    for (const bool is_second : {false, true}) {
        Worker worker(of(0, 2));
        ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
        const auto flags_of = [&](const pace_buffer_options* options, float* expected) {
            pace_buffer buffer{};
            void* data = nullptr;
            EXPECT_EQ(pace_buffer_create(worker.session(), PACE_F32, kPages, options, &buffer,
                                         &data, &error_),
                      PACE_OK)
                << error_.message;
            EXPECT_TRUE(expected == nullptr || data == expected);
            if (options == nullptr) {
                EXPECT_EQ(*static_cast<float*>(data), is_second ? 9.0F : 0.0F);
                *static_cast<float*>(data) = 9;
            }
            return info_of(worker, buffer).flags;
        };
        EXPECT_EQ(flags_of(&pointer, heap.data()), uint32_t{PACE_BUFFER_STAGED});
        EXPECT_EQ(flags_of(&lent, nullptr), 0U);
        EXPECT_EQ(flags_of(nullptr, nullptr), is_second ? uint32_t{PACE_BUFFER_RESTORED} : 0U);
        worker.drop();
    }
}

TEST_F(MemoryRules, ThePagesOfAMemfdAreThereWhenItIsABuffer) {
    constexpr uint64_t kPages = uint64_t{1} << 20U;
    const base::UniqueFd fd = sealed(kPages);
    struct stat before {};
    ASSERT_EQ(fstat(fd.get(), &before), 0);
    EXPECT_EQ(before.st_blocks, 0);
    Worker worker(of(0, 1));
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    pace_buffer_options lent = PACE_BUFFER_OPTIONS_INIT;
    lent.source = PACE_FD;
    lent.fd = fd.get();
    pace_buffer buffer{};
    void* data = nullptr;
    ASSERT_EQ(
        pace_buffer_create(worker.session(), PACE_F32, kPages, &lent, &buffer, &data, &error_),
        PACE_OK)
        << error_.message;
    struct stat after {};
    ASSERT_EQ(fstat(fd.get(), &after), 0);
    EXPECT_GE(static_cast<uint64_t>(after.st_blocks) * 512, kPages * sizeof(float));
}

TEST_F(MemoryRules, ATensorOfATrainersOwnMemoryIsThatMemory) {
    std::vector<float> heap(kFloats, 4);
    Worker worker(of(0, 1));
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    pace_buffer_options pointer = PACE_BUFFER_OPTIONS_INIT;
    pointer.source = PACE_POINTER;
    pointer.flags = PACE_MAY_STAGE;
    pointer.pointer = heap.data();
    pace_buffer buffer{};
    void* data = nullptr;
    ASSERT_EQ(
        pace_buffer_create(worker.session(), PACE_F32, kFloats, &pointer, &buffer, &data, &error_),
        PACE_OK)
        << error_.message;
    // DLManagedTensor begins with its DLTensor. The DLTensor begins with the address. The deleter
    // is the last member of DLManagedTensor.
    struct Managed {
        void* data;
        int32_t device[2];
        int32_t dimensions;
        uint8_t kind[4];
        int64_t* shape;
        int64_t* strides;
        uint64_t offset;
        void* context;
        void (*deleter)(Managed*);
    };
    void* tensor = nullptr;
    ASSERT_EQ(pace_buffer_to_dlpack(worker.session(), buffer, 0, &tensor, &error_), PACE_OK)
        << error_.message;
    auto* managed = static_cast<Managed*>(tensor);
    EXPECT_EQ(managed->data, heap.data());
    EXPECT_EQ(managed->shape[0], static_cast<int64_t>(kFloats));
    EXPECT_EQ(pace_buffer_free(worker.session(), buffer, &error_), PACE_OK);
    managed->deleter(managed);
    EXPECT_EQ(heap[kFloats - 1], 4);
}

TEST(RulesOfQuotas, TheCopyOfATrainersOwnMemoryCounts) {
    Cluster cluster(
        {.nodes = 1, .controller = false, .daemon_flags = {"--client-bytes-max", "4MiB"}});
    Worker worker({.endpoint = cluster.endpoint(0)});
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    std::vector<float> heap(uint64_t{2} << 20U);
    pace_buffer_options pointer = PACE_BUFFER_OPTIONS_INIT;
    pointer.source = PACE_POINTER;
    pointer.flags = PACE_MAY_STAGE;
    pointer.pointer = heap.data();
    pace_buffer buffer{};
    void* data = nullptr;
    pace_error error{};
    EXPECT_EQ(pace_buffer_create(worker.session(), PACE_F32, heap.size(), &pointer, &buffer, &data,
                                 &error),
              PACE_E_LIMIT);
    EXPECT_NE(std::string(error.message).find("client_bytes_max"), std::string::npos)
        << error.message;
    EXPECT_EQ(pace_buffer_create(worker.session(), PACE_F32, heap.size() / 4, &pointer, &buffer,
                                 &data, &error),
              PACE_OK)
        << error.message;
    EXPECT_GE(info_of(worker, buffer).twin_bytes, heap.size());
}

}  // namespace
}  // namespace pace::cluster
