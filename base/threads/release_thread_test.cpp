#include "base/threads/release_thread.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/memory/memfd.h"

namespace pace::base {
namespace {

constexpr size_t kMuch = 2 * ReleaseThread::kLittleBytes;

// Maps a file of its own, so that a test recognizes the mapping by the file's name. The address
// alone proves nothing: another thread may map other memory at the same address.
std::byte* map(const char* name, size_t bytes) {
    const UniqueFd file(memfd_create(name, MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
    EXPECT_NE(data, MAP_FAILED);
    return static_cast<std::byte*>(data);
}

bool is_mapped(const std::string& name) {
    std::ifstream maps("/proc/self/maps");
    EXPECT_TRUE(maps);
    for (std::string line; std::getline(maps, line);)
        if (line.find("/memfd:" + name + " ") != std::string::npos) return true;
    return false;
}

TEST(ReleaseThread, HasGivenEverythingBackWhenItEnds) {
    std::byte* const much = map("much", kMuch);
    std::byte* const little = map("little", 4096);
    EXPECT_TRUE(is_mapped("much"));
    EXPECT_TRUE(is_mapped("little"));
    {
        const ReleaseThread thread;
        release_mapping(little, 4096);
        EXPECT_FALSE(is_mapped("little")) << "little is given back at once";
        release_mapping(much, kMuch);
    }
    EXPECT_FALSE(is_mapped("much"));
}

TEST(ReleaseThread, IsNotNeeded) {
    release_mapping(map("much", kMuch), kMuch);
    EXPECT_FALSE(is_mapped("much"));
}

// Tells in which thread it was destroyed.
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
    {
        const ReleaseThread thread;
        auto memory = MappedMemfd::create("shared", kMuch, true);
        ASSERT_TRUE(memory);
        EXPECT_TRUE(is_mapped("shared"));
        fd = memory->fd();
        memory = MappedMemfd();
    }
    EXPECT_FALSE(is_mapped("shared"));
    EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "the descriptor is open still";
}

// A trainer may have thousands of shared buffers, also small ones, that are all released at once.
TEST(ReleaseThread, GivesSharedMemoryOfAnySizeBackAndItsDescriptorGoesAtOnce) {
    std::vector<std::string> mapped;
    {
        // Outlives the thread: the object that waits for the promise may be destroyed late.
        std::promise<void> go_on;
        const ReleaseThread thread;
        struct Blocks {
            explicit Blocks(std::promise<void>& promise) : until(promise) {}
            ~Blocks() { until.get_future().wait(); }
            std::promise<void>& until;
        };
        release_object(std::make_shared<const Blocks>(go_on), kMuch);
        for (const size_t bytes :
             {size_t{4096}, size_t{65536}, size_t{1} << 20U, size_t{4} << 20U}) {
            mapped.push_back("shared-" + std::to_string(bytes));
            auto memory = MappedMemfd::create(mapped.back().c_str(), bytes, true);
            ASSERT_TRUE(memory);
            const int fd = memory->fd();
            memory = MappedMemfd();
            EXPECT_TRUE(is_mapped(mapped.back())) << bytes << " bytes were given back at once";
            EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "the descriptor is open still";
        }
        go_on.set_value();
    }
    for (const std::string& name : mapped) EXPECT_FALSE(is_mapped(name));
}

}  // namespace
}  // namespace pace::base
