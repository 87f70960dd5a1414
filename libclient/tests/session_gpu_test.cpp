// Sessions with buffers on a GPU, and daemons of the test: those that place buffers in blocks,
// those that know no blocks, and those that say what cannot be. Each test runs in a process of its
// own, since a process opens its driver once.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/cuda/cuda_mapping.h"
#include "libclient/testing/session_fixture.h"
#include "tests/simulated_gpu/tests/apart.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;

constexpr uint64_t kBlock = uint64_t{2} << 20U;

// A descriptor of memory of the GPU, as a daemon sends it.
base::UniqueFd exported() {
    const base::cuda::CudaDriver& driver = **base::cuda::CudaDriver::get();
    const auto wanted = base::cuda::exportable_on(0);
    base::cuda::CUmemGenericAllocationHandle allocation = 0;
    EXPECT_EQ(driver.mem_create(&allocation, kBlock, &wanted, 0), base::cuda::kSuccess);
    int descriptor = -1;
    EXPECT_EQ(driver.mem_export(&descriptor, allocation, base::cuda::kHandleFd, 0),
              base::cuda::kSuccess);
    (void)driver.mem_release(allocation);
    return base::UniqueFd(descriptor);
}

// What the daemon tells of a new buffer.
struct Told {
    uint64_t block = 0;
    uint64_t offset = 0;
    bool has_descriptor = true;
    uint64_t bytes = kBlock;
};

// What the daemon was asked for.
struct Asked {
    bool adopt = false;
    bool takes_place = false;
    uint64_t block = 0;
    uint64_t block_bytes = 0;
    uint64_t offset = 0;
    bool has_descriptor = false;
};

// A daemon with one GPU, and a trainer's session.
class GpuTrainer {
  public:
    explicit GpuTrainer(std::vector<Told> answers, bool knows_blocks = true)
        : answers_(std::move(answers)) {
        daemon_ = std::make_unique<FakeDaemon>(folder_.file("socket"), script(knows_blocks));
        auto opened = Session::open({EndpointKind::unix_socket, folder_.file("socket")},
                                    job_options(), 1, kPatience);
        EXPECT_TRUE(opened) << opened.error().message;
        if (opened) session_ = std::move(*opened);
    }

    Session& session() { return *session_; }
    base::Result<CreatedBuffer> make(uint64_t count = 16) {
        return session_->create_buffer(protocol::DType::f32, count, 1);
    }
    void restart_daemon(bool knows_blocks) { daemon_->restart(script(knows_blocks)); }
    const std::vector<Asked>& asked() {
        daemon_->settle();
        return asked_;
    }
    // Set by the trainer's work on the GPU, and whether it was when the daemon heard of a free.
    std::atomic<bool> has_worked = false;
    bool worked_when_freed() {
        daemon_->settle();
        return worked_when_freed_;
    }
    // For each buffer that was freed.
    const std::vector<bool>& kept_places() {
        daemon_->settle();
        return kept_places_;
    }

  private:
    Script script(bool knows_blocks) {
        Script script;
        script.on_packet = [this, knows_blocks](Peer& peer, Packet& packet) {
            flatbuffers::FlatBufferBuilder builder;
            if (packet.type() == wire::Body::Hello) {
                peer.send(builder, wire::CreateWelcomeDirect(builder, protocol::kVersion, "fake",
                                                             "node", 1, true, knows_blocks));
                return true;
            }
            if (const auto* share = packet.body<wire::DeviceShare>()) {
                const auto none = builder.CreateVector(std::vector<uint8_t>());
                peer.send(builder, wire::CreateDeviceShared(builder, share->request(), none));
                return true;
            }
            if (const auto* freed = packet.body<wire::BufferFree>()) {
                kept_places_.push_back(freed->keeps_place());
                worked_when_freed_ = has_worked;
            }
            if (packet.body<wire::BufferCreate>() == nullptr) return false;
            answer(peer, packet);
            return true;
        };
        return script;
    }

    void answer(const Peer& peer, Packet& packet) {
        const auto& create = *packet.body<wire::BufferCreate>();
        asked_.push_back({create.adopt(), create.takes_place(), create.block(),
                          create.block_bytes(), create.offset(), !packet.fds().empty()});
        const auto index = static_cast<uint32_t>(asked_.size());
        Told told;
        if (!create.adopt()) told = answers_.at(told_++);
        flatbuffers::FlatBufferBuilder builder;
        const auto created = wire::CreateBufferCreated(
            builder, create.request(), index, 1, told.bytes, false, 0, told.block, told.offset);
        const base::UniqueFd memory = exported();
        const std::array fds{memory.get()};
        const bool sends = !create.adopt() && told.has_descriptor;
        peer.send(builder, created, sends ? std::span<const int>(fds) : std::span<const int>());
    }

    base::testing::TemporaryFolder folder_;
    std::vector<Told> answers_;
    size_t told_ = 0;
    std::vector<Asked> asked_;
    std::vector<bool> kept_places_;
    bool worked_when_freed_ = false;
    std::unique_ptr<FakeDaemon> daemon_;
    std::unique_ptr<Session> session_;
};

uintptr_t address(const CreatedBuffer& buffer) {
    return reinterpret_cast<uintptr_t>(buffer.data);
}

TEST(SessionOnGpu, ADaemonOfAnOlderReleaseGivesEachBufferMemoryOfItsOwn) {
    simulated_gpu::apart({}, [] {
        GpuTrainer trainer({{}, {}}, false);
        const auto first = trainer.make();
        const auto second = trainer.make();
        ASSERT_TRUE(first && second);
        EXPECT_NE(first->data, second->data);
        EXPECT_TRUE(trainer.asked().front().takes_place);
        EXPECT_TRUE(trainer.session().free_buffer(first->handle));
        EXPECT_FALSE(trainer.kept_places().front());
    });
}

TEST(SessionOnGpu, ABlockIsMappedOnceForAllBuffersThere) {
    simulated_gpu::apart({}, [] {
        GpuTrainer trainer({{.block = 3, .offset = 256},
                            {.block = 3, .offset = kBlock - 64, .has_descriptor = false},
                            {.block = 4}});
        const auto first = trainer.make();
        const auto second = trainer.make();
        const auto third = trainer.make();
        ASSERT_TRUE(first && second && third);
        EXPECT_EQ(address(*second) - address(*first), kBlock - 64 - 256);
        EXPECT_NE(address(*third), address(*first) - 256);
    });
}

TEST(SessionOnGpu, TheDaemonIsToldThatTensorsGoOnUsingAPlace) {
    simulated_gpu::apart({}, [] {
        GpuTrainer trainer({{.block = 1}, {.block = 1, .offset = 256, .has_descriptor = false}});
        const auto first = trainer.make();
        const auto second = trainer.make();
        ASSERT_TRUE(first && second);
        const auto tensor = trainer.session().share_buffer(first->handle);
        ASSERT_TRUE(tensor);
        EXPECT_TRUE(trainer.session().free_buffer(first->handle));
        EXPECT_TRUE(trainer.session().free_buffer(second->handle));
        EXPECT_EQ(trainer.kept_places(), (std::vector<bool>{true, false}));
    });
}

// Another buffer may lie in the place as soon as the daemon hears of it.
TEST(SessionOnGpu, TheTrainersWorkEndsBeforeThePlaceIsGivenBack) {
    simulated_gpu::apart({{"PACE_SIMULATED_GPU_DELAY_US", "20000"}}, [] {
        GpuTrainer trainer(std::vector<Told>{{.block = 1}});
        const auto made = trainer.make();
        ASSERT_TRUE(made);
        const base::cuda::CudaDriver& driver = **base::cuda::CudaDriver::get();
        base::cuda::CUcontext context = nullptr;
        base::cuda::CUstream stream = nullptr;
        ASSERT_EQ(driver.primary_context_retain(&context, 0), base::cuda::kSuccess);
        {
            const base::cuda::ContextScope scope(driver, context);
            ASSERT_EQ(driver.stream_create(&stream, base::cuda::kStreamNonBlocking),
                      base::cuda::kSuccess);
            ASSERT_EQ(
                driver.launch_host_function(
                    stream, [](void* told) { static_cast<GpuTrainer*>(told)->has_worked = true; },
                    &trainer),
                base::cuda::kSuccess);
        }
        EXPECT_TRUE(trainer.session().free_buffer(made->handle));
        EXPECT_TRUE(trainer.worked_when_freed());
    });
}

TEST(SessionOnGpu, TheNextDaemonGetsABlockWithItsFirstBuffer) {
    simulated_gpu::apart({}, [] {
        GpuTrainer trainer({{.block = 3, .offset = 256},
                            {.block = 3, .offset = 512, .has_descriptor = false},
                            {.block = 5}});
        ASSERT_TRUE(trainer.make() && trainer.make());
        trainer.restart_daemon(true);
        ASSERT_TRUE(trainer.make());
        const auto& asked = trainer.asked();
        ASSERT_EQ(asked.size(), 5U);
        for (const size_t i : {2, 3}) {
            EXPECT_TRUE(asked[i].adopt);
            EXPECT_EQ(asked[i].block, 3U);
            EXPECT_EQ(asked[i].block_bytes, kBlock);
            EXPECT_EQ(asked[i].offset, i == 2 ? 256U : 512U);
            EXPECT_EQ(asked[i].has_descriptor, i == 2);
        }
    });
}

// It would take the buffer to be at the beginning of the block.
TEST(SessionOnGpu, ADaemonOfAnOlderReleaseIsNotHandedABlock) {
    simulated_gpu::apart({}, [] {
        GpuTrainer trainer({{.block = 3, .offset = 256}});
        ASSERT_TRUE(trainer.make());
        trainer.restart_daemon(false);
        const auto next = trainer.make();
        ASSERT_FALSE(next);
        EXPECT_EQ(next.error().kind, ErrorKind::closed) << next.error().message;
        EXPECT_TRUE(says(next.error(), "older release")) << next.error().message;
        EXPECT_EQ(trainer.asked().size(), 1U);
    });
}

TEST(SessionOnGpu, APlaceThatIsNotInItsBlockGivesTheDaemonUp) {
    for (const Told& told : std::vector<Told>{{.block = 1, .offset = kBlock},
                                              {.block = 1, .offset = kBlock - 60},
                                              {.block = 1, .offset = UINT64_MAX - 3},
                                              {.block = 1, .offset = 2},
                                              {.block = 1, .has_descriptor = false},
                                              {.block = 1, .bytes = 63}})
        simulated_gpu::apart({}, [&told] {
            GpuTrainer trainer({told});
            const auto made = trainer.make();
            ASSERT_FALSE(made) << told.offset;
            EXPECT_EQ(made.error().kind, ErrorKind::unavailable) << made.error().message;
        });
}

TEST(SessionOnGpu, ABlockThatIsShorterThanWasToldIsNotMapped) {
    simulated_gpu::apart({}, [] {
        GpuTrainer trainer({{.block = 1, .offset = kBlock, .bytes = 2 * kBlock}});
        EXPECT_FALSE(trainer.make());
        EXPECT_EQ(trainer.kept_places().size(), 1U) << "the daemon's buffer is freed";
    });
}

}  // namespace
}  // namespace pace::client::testing
