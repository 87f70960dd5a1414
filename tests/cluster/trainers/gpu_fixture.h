// The common parts of the tests of buffers on GPUs: the driver that the tests and their daemons
// use, and workers.
//
// The tests run twice. They run with the simulated driver (tests/simulated_gpu) on every machine,
// and with the label gpu on a machine that has a GPU.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/trainers/gpu_worker.h"
#ifdef PACE_SIMULATED_GPU_FOLDER
#include "tests/simulated_gpu/simulated_gpu.h"
#endif

namespace pace::cluster {

// Sets the driver of this program and its daemons. This must happen before anything else.
class Drivers : public testing::Environment {
  public:
    void SetUp() override {
#ifdef PACE_SIMULATED_GPU_FOLDER
        simulated_gpu::use_simulated_gpu();
        simulated_gpu::set_environment(simulated_gpu::Nccl::present);
        // At most four GPUs that no other running test's daemons claim.
        setenv("PACE_SIMULATED_GPU_FIRST", std::to_string(4 * getpid()).c_str(), 1);
#endif
    }
};
inline const auto* const drivers = testing::AddGlobalTestEnvironment(new Drivers);

inline std::vector<std::string> flags() {
#ifdef PACE_SIMULATED_GPU_FOLDER
    return {"--plugins", simulated_gpu::kPlugins};
#else
    return {"--plugins", PACE_PLUGINS};
#endif
}

class Gpu : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string why = TestGpu::absence(); !why.empty()) GTEST_SKIP() << why;
    }
};

// Holds a stream at the place where the gate is queued, until the gate is opened.
class Gate {
  public:
    void hold(GpuWorker& worker) {
        const auto scope = worker.gpu().enter();
        ASSERT_EQ(TestGpu::driver().launch_host_function(
                      worker.stream(),
                      [](void* gate) { static_cast<Gate*>(gate)->open_.wait(false); }, this),
                  base::cuda::kSuccess);
    }
    void open() {
        open_ = true;
        open_.notify_all();
    }

  private:
    std::atomic<bool> open_ = false;
};

inline std::vector<float> ramp(size_t count, float first) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

// Returns the number after this key in a JSON document. -1 means that the document does not have
// the key.
inline int64_t number_in(const std::string& document, const std::string& key) {
    const size_t at = document.find('"' + key + "\": ");
    return at == std::string::npos ? -1 : std::stoll(document.substr(at + key.size() + 4));
}

using GpuWorkers = std::vector<std::unique_ptr<GpuWorker>>;

// Opens one worker for each of `nodes`, on that node.
inline GpuWorkers open_gpu_workers(const Cluster& cluster, WorkerOptions options,
                                   const std::vector<size_t>& nodes, uint64_t count) {
    GpuWorkers workers;
    options.world = std::max(options.world, static_cast<uint32_t>(nodes.size()));
    for (const size_t node : nodes) {
        options.endpoint = cluster.endpoint(node);
        options.rank = static_cast<uint32_t>(workers.size());
        workers.push_back(std::make_unique<GpuWorker>(options));
        if (count == 0) continue;
        GpuWorker& worker = *workers.back();
        EXPECT_NE(worker.add_buffer(PACE_F32, count), nullptr) << worker.error().message;
    }
    return workers;
}

}  // namespace pace::cluster
