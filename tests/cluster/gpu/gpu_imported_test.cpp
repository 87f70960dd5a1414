// Imported GPU memory tests: memory on GPUs that belongs to the trainer. It is given by a device
// pointer, or by a descriptor that the driver has exported.
#include <unistd.h>

#include <csignal>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cuda/cuda_mapping.h"
#include "base/unique_fd.h"
#include "capi/testing/calls.h"
#include "tests/cluster/trainers/gpu_fixture.h"

namespace pace::cluster {
namespace {

using namespace base::cuda;  // the driver's own names

constexpr uint64_t kImportedCount = 100'001;
// The offset of a pointer's memory in its block, in elements.
constexpr uint64_t kBehind = 1003;

// Memory as a framework has it, on the first GPU.
class OwnGpuMemory {
  public:
    OwnGpuMemory(const TestGpu& gpu, bool is_exported) : gpu_(gpu) {
        const auto scope = gpu_.enter();
        if (is_exported)
            make_exported();
        else
            EXPECT_EQ(driver().mem_alloc(&block_, (kBehind + kImportedCount) * sizeof(float)),
                      kSuccess);
    }
    OwnGpuMemory(const OwnGpuMemory&) = delete;
    OwnGpuMemory& operator=(const OwnGpuMemory&) = delete;
    ~OwnGpuMemory() {
        const auto scope = gpu_.enter();
        mapping_.reset();
        EXPECT_EQ(driver().mem_free(block_), kSuccess);  // if there is no block, this does nothing
    }

    void* data() const {
        const CUdeviceptr at = mapping_ ? mapping_->address() : block_ + kBehind * sizeof(float);
        return reinterpret_cast<void*>(static_cast<uintptr_t>(at));
    }
    pace_buffer_options options() const {
        pace_buffer_options options = PACE_BUFFER_OPTIONS_INIT;
        options.device = on_gpu(0);
        options.source = mapping_ ? PACE_FD : PACE_POINTER;
        options.fd = fd_.get();
        if (!mapping_) options.pointer = data();
        return options;
    }

  private:
    static const CudaDriver& driver() { return TestGpu::driver(); }

    void make_exported() {
        CUdevice device = 0;
        ASSERT_EQ(driver().device_get(&device, 0), kSuccess);
        const auto bytes = rounded_for(driver(), device, kImportedCount * sizeof(float));
        ASSERT_TRUE(bytes);
        const CUmemAllocationProp wanted = exportable_on(device);
        CUmemGenericAllocationHandle allocation = 0;
        ASSERT_EQ(driver().mem_create(&allocation, *bytes, &wanted, 0), kSuccess);
        int descriptor = -1;
        ASSERT_EQ(driver().mem_export(&descriptor, allocation, kHandleFd, 0), kSuccess);
        fd_.reset(descriptor);
        auto mapped = CudaMapping::map(driver(), device, allocation, *bytes);
        ASSERT_TRUE(mapped);
        mapping_ = std::move(*mapped);
        ASSERT_EQ(driver().mem_release(allocation), kSuccess);
    }

    const TestGpu& gpu_;
    CUdeviceptr block_ = 0;
    std::optional<CudaMapping> mapping_;
    base::UniqueFd fd_;
};

// Two workers with memory of their own. The parameter tells whether the memory is exported as a
// descriptor.
class ImportedOnGpu : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        if (const std::string why = TestGpu::absence(); !why.empty()) GTEST_SKIP() << why;
        gpu_.emplace();
    }
    void TearDown() override {
        workers_.clear();
        memory_.clear();
    }
    void open(const std::vector<size_t>& nodes) {
        cluster_.emplace(Cluster::Options{.nodes = 2, .daemon_flags = flags()});
        workers_ = open_gpu_workers(*cluster_, {}, nodes, 0);
        for (auto& worker : workers_) {
            memory_.push_back(std::make_unique<OwnGpuMemory>(*gpu_, GetParam()));
            const pace_buffer_options options = memory_.back()->options();
            ASSERT_NE(worker->import_buffer(PACE_F32, kImportedCount, options), nullptr)
                << worker->error().message << cluster_->logs();
        }
    }
    // Fills through the trainer's own address.
    void fill(size_t rank, float first) {
        written_.push_back(ramp(kImportedCount, first));
        gpu_->write(memory_[rank]->data(), written_.back().data(), kImportedCount * sizeof(float),
                    workers_[rank]->stream());
    }
    std::vector<float> values(size_t rank) {
        std::vector<float> values(kImportedCount);
        gpu_->read(values.data(), memory_[rank]->data(), kImportedCount * sizeof(float),
                   workers_[rank]->stream());
        return values;
    }
    void sum(float first) {
        std::vector<pace_request> requests(2);
        for (size_t rank = 0; rank < 2; ++rank) {
            fill(rank, first + static_cast<float>(rank));
            ASSERT_EQ(workers_[rank]->reduce(requests[rank]), PACE_OK)
                << workers_[rank]->error().message;
        }
        std::vector<float> wanted = ramp(kImportedCount, first);
        for (float& value : wanted) value = 2 * value + 1;
        for (size_t rank = 0; rank < 2; ++rank) {
            ASSERT_EQ(workers_[rank]->wait_on_stream(requests[rank]), PACE_OK)
                << workers_[rank]->error().message << cluster_->logs();
            EXPECT_EQ(values(rank), wanted);
        }
    }

    std::optional<TestGpu> gpu_;
    std::optional<Cluster> cluster_;
    std::deque<std::vector<float>> written_;
    std::vector<std::unique_ptr<OwnGpuMemory>> memory_;
    GpuWorkers workers_;
};

TEST_P(ImportedOnGpu, TakesPartWhereItIs) {
    for (const std::vector<size_t>& nodes :
         {std::vector<size_t>{0, 0}, std::vector<size_t>{0, 1}}) {
        open(nodes);
        sum(0);
        sum(5);
        TearDown();
    }
}

TEST_P(ImportedOnGpu, IsGivenToTheNextDaemon) {
    open({0});
    fill(0, 3);
    cluster_->daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster_->daemon(0).wait(soon()));
    cluster_->start_daemon(0);
    for (int round = 0; round < 2; ++round) {
        pace_request request{};
        ASSERT_EQ(workers_[0]->reduce(request), PACE_OK) << workers_[0]->error().message;
        ASSERT_EQ(workers_[0]->wait(request), PACE_OK)
            << workers_[0]->error().message << cluster_->logs();
        EXPECT_EQ(values(0), ramp(kImportedCount, 3));
    }
}

INSTANTIATE_TEST_SUITE_P(By, ImportedOnGpu, testing::Bool(), [](const auto& instance) {
    return instance.param ? "Descriptor" : "Pointer";
});

TEST_F(Gpu, MemoryThatIsNotTheTrainersOwnThereIsRefusedByName) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorker worker({.endpoint = cluster.endpoint(0)});
    const OwnGpuMemory by_pointer(worker.gpu(), false);
    const OwnGpuMemory by_descriptor(worker.gpu(), true);
    const auto refusal = [&](const pace_buffer_options& options, uint64_t count = kImportedCount) {
        EXPECT_EQ(worker.import_buffer(PACE_F32, count, options), nullptr);
        return std::string(pace_status_name(worker.error().status)) + " " + worker.error().argument;
    };
    pace_buffer_options options = by_pointer.options();
    // This is one element more than the memory has. The simulated driver rounds up to pages.
    EXPECT_EQ(refusal(options, uint64_t{4} << 20U), "PACE_E_INVALID pointer");
    std::vector<float> host(16);
    options.pointer = host.data();
    EXPECT_EQ(refusal(options, 16), "PACE_E_INVALID pointer");
    options = by_descriptor.options();
    EXPECT_EQ(refusal(options, uint64_t{4} << 20U), "PACE_E_INVALID fd");
    options.fd = STDERR_FILENO;
    EXPECT_EQ(refusal(options), "PACE_E_INVALID fd");
    const int closed = dup(STDERR_FILENO);
    close(closed);
    options.fd = closed;
    EXPECT_EQ(refusal(options), "PACE_E_INVALID fd");
    // All these refusals left nothing behind.
    pace_buffer_options right = by_pointer.options();
    EXPECT_NE(worker.import_buffer(PACE_F32, kImportedCount, right), nullptr)
        << worker.error().message;
}

// The memory that is left is given to no successor.
TEST_F(Gpu, MemoryOfATrainerThatDiedIsNotKept) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    auto worker = std::make_unique<GpuWorker>(WorkerOptions{.endpoint = cluster.endpoint(0)});
    TestGpu gpu;
    const OwnGpuMemory own(gpu, false);
    const pace_buffer_options options = own.options();
    ASSERT_NE(worker->import_buffer(PACE_F32, kImportedCount, options), nullptr)
        << worker->error().message;
    worker->worker().drop();
    worker.reset();
    GpuWorker next({.endpoint = cluster.endpoint(0)});
    ASSERT_NE(next.add_buffer(PACE_F32, kImportedCount), nullptr) << next.error().message;
    pace_buffer_info info = PACE_BUFFER_INFO_INIT;
    pace_error error{};
    ASSERT_EQ(pace_buffer_get_info(next.session(), next.buffer(0), &info, &error), PACE_OK);
    EXPECT_EQ(info.flags & PACE_BUFFER_RESTORED, 0U);
}

}  // namespace
}  // namespace pace::cluster
