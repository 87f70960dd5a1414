// ServerWorker: a worker of a server job. It has one buffer for updates and one for the model, each
// in two parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {

struct ServerJob {
    std::string name = "served";
    uint32_t world = 1;
    std::string policy = PACE_POLICY_ASP;
    std::string rate = "sum";
    uint64_t elements = 10;
    uint32_t shards = 0;
    std::function<void(AskedSession&)> tune = {};
};

class ServerWorker {
  public:
    ServerWorker(const std::string& endpoint, const ServerJob& job, uint32_t rank);

    Worker& session() { return worker_; }
    const pace_request_info& info() const { return worker_.info(); }
    uint64_t elements() const { return elements_; }
    // Returns an element of the model, as last pulled or broadcast.
    float model(uint64_t element) const {
        return element < half_ ? model_[0][element] : model_[1][element - half_];
    }
    void set_model(float value);
    void set_update(float value);
    void set_update(uint64_t element, float value);

    pace_request push(uint64_t clock);
    pace_request push_range(uint64_t clock, uint64_t first, const std::vector<float>& values);
    pace_request push_sparse(uint64_t clock, const std::vector<uint32_t>& indices,
                             const std::vector<float>& values);
    pace_request pull(uint64_t clock);
    // Pulls into the buffer that range() gives.
    pace_request pull_range(uint64_t clock, uint64_t first);
    const float* range() const { return values_; }
    pace_request broadcast(uint32_t root);
    pace_request checkpoint();

    // Waits for success.
    void finish(pace_request request) { worker_.finish(request); }

    // The number of elements of range(), and the greatest number of entries.
    static constexpr uint64_t kRange = 16;

  private:
    Worker worker_;
    uint64_t elements_;
    uint64_t half_;
    std::vector<pace_buffer> model_buffers_;
    std::vector<pace_buffer> update_buffers_;
    std::vector<float*> model_;
    std::vector<float*> update_;
    pace_buffer indices_buffer_{};
    pace_buffer values_buffer_{};
    uint32_t* indices_ = nullptr;
    float* values_ = nullptr;
    pace_error error_{};
};

// One worker for each rank, on the named node.
using Workers = std::vector<std::unique_ptr<ServerWorker>>;
Workers open_workers(const Cluster& cluster, ServerJob job, const std::vector<size_t>& nodes);

}  // namespace pace::cluster
