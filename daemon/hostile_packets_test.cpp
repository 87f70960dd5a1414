// Hostile packet tests: clients whose packets carry forbidden descriptors or names.
#include <sys/mman.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/hostile_fixture.h"
#include "transports/ucx/ucx_process.h"

namespace pace::daemon {
namespace {

// ------------------------------------------------------------------------------------- descriptors

size_t open_files() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
}

class SuperfluousDescriptors : public HostileClients {
  protected:
    static constexpr size_t kMuch = size_t{4} << 20U;  // large enough to be made outside the loop

    // Sends `fds` descriptors of the same memory with a request for a buffer that is not adopted.
    void ask(RingClient& client, uint64_t request, uint64_t count, size_t fds) {
        const UniqueFd memory(memfd_create("many", MFD_CLOEXEC));
        const std::vector<int> all(fds, memory.get());
        (void)send_body(
            client.socket(),
            [&](flatbuffers::FlatBufferBuilder& b) {
                const auto create = fb::CreateBufferCreate(
                    b, request, static_cast<fb::DType>(DType::f32), count, false);
                return std::pair(fb::Body::BufferCreate, create.Union());
            },
            all);
    }
};

TEST_F(SuperfluousDescriptors, AreNotKept) {
    RingClient client(*this);
    ASSERT_TRUE(client.join("greedy", 0, 1, [](protocol::JobOptions& options) {
        options.policy = protocol::Policy::all_reduce;
    })) << client.refusal();
    for (int i = 0; i < 20; ++i) turn();
    const size_t before = open_files();
    constexpr uint64_t kRequests = 8;
    for (uint64_t request = 1000; request < 1000 + kRequests; ++request) {
        ask(client, request, kMuch / sizeof(float), 4);
        turn();
        // One for each buffer, and some of the loop's own.
        EXPECT_LE(open_files(), before + 2 * (request - 999) + 4);
    }
}

TEST_F(SuperfluousDescriptors, BesideWhateverElseEndTheClient) {
    RingClient client(*this);
    const UniqueFd memory(memfd_create("one", MFD_CLOEXEC));
    const std::array<int, 1> fds{memory.get()};
    (void)send_body(
        client.socket(),
        [&](flatbuffers::FlatBufferBuilder& b) {
            return std::pair(fb::Body::Query, fb::CreateQueryDirect(b, 1, "daemon").Union());
        },
        fds);
    EXPECT_TRUE(until([&] {
        return client.is_gone() || [&] {
            auto got = receive_packet(client.socket());
            return got && !got->would_block && !got->closed &&
                   verify_packet(got->bytes)->body_type() == fb::Body::Failed;
        }();
    }));
}

// ------------------------------------------------------------------------------------------- names

class HostileNames : public HostileClients {
  protected:
    HostileNames() {
        std::string folder =
            (std::filesystem::temp_directory_path() / "pace-names-XXXXXX").string();
        folder_ = mkdtemp(folder.data());
        NodeConfig config;
        config.name = "named";
        config.threads = 1;
        config.gpu.off = true;
        config.exchange.checkpoints = folder_ + "/checkpoints";
        node_ = Node::create(*loop_, config).value();
    }
    ~HostileNames() override {
        node_.reset();
        std::filesystem::remove_all(folder_);
    }
    std::string folder_;
};

TEST_F(HostileNames, ArePathsNowhere) {
    const Tune restores = [](protocol::JobOptions& options) {
        options.policy = protocol::Policy::ssp;
        options.elements = 4;
        options.restore = true;
    };
    for (const std::string& name :
         {std::string("../1000/victim"), std::string("a/b"), std::string("."), std::string(".."),
          std::string(), std::string(64, 'a'), std::string("a\nb"), std::string("a\0b", 3)}) {
        RingClient client(*this);
        EXPECT_FALSE(client.join(name, 0, 1, restores));
        EXPECT_NE(client.refusal().find("name"), std::string::npos) << client.refusal();
        EXPECT_EQ(client.refusal().find(folder_), std::string::npos) << client.refusal();
    }
}

}  // namespace
}  // namespace pace::daemon

// Otherwise UCX would hook this process's madvise(), with which the thread sanitizer ends its
// threads.
int main(int argc, char** argv) {
    pace::transports::restart_without_ucx_effects();
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
