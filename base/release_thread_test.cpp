#include "base/release_thread.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/memfd.h"

namespace pace::base {
namespace {

constexpr size_t kMuch = 2 * ReleaseThread::kLittleBytes;

std::byte* map(size_t bytes) {
    void* const data =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(data, MAP_FAILED);
    return static_cast<std::byte*>(data);
}

bool is_mapped(std::byte* data) {
    unsigned char resident = 0;
    return mincore(data, 1, &resident) == 0;
}

TEST(ReleaseThread, HasGivenEverythingBackWhenItEnds) {
    std::byte* const much = map(kMuch);
    std::byte* const little = map(4096);
    {
        const ReleaseThread thread;
        release_mapping(little, 4096);
        EXPECT_FALSE(is_mapped(little)) << "little is given back at once";
        release_mapping(much, kMuch);
    }
    EXPECT_FALSE(is_mapped(much));
}

TEST(ReleaseThread, IsNotNeeded) {
    std::byte* const much = map(kMuch);
    release_mapping(much, kMuch);
    EXPECT_FALSE(is_mapped(much));
}

// Says where it was destroyed.
class Large {
  public:
    explicit Large(std::thread::id& ret_where) : where_(&ret_where) {}
    Large(Large&& other) noexcept : where_(std::exchange(other.where_, nullptr)) {}
    Large& operator=(Large&&) = delete;
    Large(const Large&) = delete;
    Large& operator=(const Large&) = delete;
    ~Large() {
        if (where_ != nullptr) *where_ = std::this_thread::get_id();
    }

  private:
    std::thread::id* where_;
};

TEST(ReleaseThread, EndsALargeObjectThatItsLastOwnerLetsGo) {
    std::thread::id where;
    {
        const ReleaseThread thread;
        std::shared_ptr<const Large> first = released(Large(where), kMuch);
        const std::shared_ptr<const Large> second = std::exchange(first, nullptr);
        EXPECT_EQ(where, std::thread::id()) << "somebody has it";
    }
    EXPECT_NE(where, std::thread::id());
    EXPECT_NE(where, std::this_thread::get_id());
}

TEST(ReleaseThread, IsNotAskedToEndALittleObject) {
    const ReleaseThread thread;
    std::thread::id where;
    released(Large(where), 100).reset();
    EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(ReleaseThread, ClosesTheFileOfSharedMemory) {
    int fd = -1;
    std::byte* data = nullptr;
    {
        const ReleaseThread thread;
        auto memory = MappedMemfd::create("pace-test", kMuch, true);
        ASSERT_TRUE(memory);
        fd = memory->fd();
        data = memory->data();
        memory = MappedMemfd();
    }
    EXPECT_FALSE(is_mapped(data));
    EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "the descriptor is open still";
}

// A trainer may have thousands of them, small ones too, that all go at once.
TEST(ReleaseThread, GivesSharedMemoryOfAnySizeBackAndItsDescriptorGoesAtOnce) {
    std::vector<std::byte*> mapped;
    {
        const ReleaseThread thread;
        std::promise<void> go_on;
        struct Blocks {
            explicit Blocks(std::promise<void>& promise) : until(promise) {}
            ~Blocks() { until.get_future().wait(); }
            std::promise<void>& until;
        };
        release_object(std::make_shared<const Blocks>(go_on), kMuch);
        for (const size_t bytes :
             {size_t{4096}, size_t{65536}, size_t{1} << 20U, size_t{4} << 20U}) {
            auto memory = MappedMemfd::create("pace-test", bytes, true);
            ASSERT_TRUE(memory);
            const int fd = memory->fd();
            mapped.push_back(memory->data());
            memory = MappedMemfd();
            EXPECT_TRUE(is_mapped(mapped.back())) << bytes << " bytes were given back at once";
            EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "the descriptor is open still";
        }
        go_on.set_value();
    }
    for (std::byte* const data : mapped) EXPECT_FALSE(is_mapped(data));
}

}  // namespace
}  // namespace pace::base
