// GpuWorker: a session of the test's own process whose buffers are on a GPU, with a stream on which it makes and reads them.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/cuda_driver.h"
#include "cluster.h"
#include "worker.h"

namespace pace::cluster {

// The driver that the tests use, its first device and that one's context. Fails the test if there is none; the simulated one always is.
class TestGpu {
  public:
    static const base::cuda::CudaDriver& driver() { return **base::cuda::CudaDriver::get(); }
    // Empty: there is one. Otherwise why not.
    static std::string absence();
    // The same of so many.
    static std::string too_few(int wanted);

    explicit TestGpu(int ordinal = 0);
    ~TestGpu();
    TestGpu(const TestGpu&) = delete;
    TestGpu& operator=(const TestGpu&) = delete;

    base::cuda::ContextScope enter() const { return {driver(), context_}; }
    base::cuda::CUstream stream();
    void write(void* device, const void* from, size_t bytes, base::cuda::CUstream stream) const;
    // When the stream has come to it.
    void read(void* to, const void* device, size_t bytes, base::cuda::CUstream stream) const;

  private:
    base::cuda::CUdevice device_ = 0;
    base::cuda::CUcontext context_ = nullptr;
    std::vector<base::cuda::CUstream> streams_;
};

inline pace_device on_gpu(uint32_t ordinal) {
    return {PACE_DEVICE_CUDA, static_cast<int32_t>(ordinal)};
}

class GpuWorker {
  public:
    explicit GpuWorker(const WorkerOptions& options, uint32_t ordinal = 0);

    Worker& worker() { return worker_; }
    pace_session* session() { return worker_.session(); }
    TestGpu& gpu() { return gpu_; }
    base::cuda::CUstream stream() const { return stream_; }
    const pace_request_info& info() const { return info_; }
    // Of the last call here that failed.
    const pace_error& error() const { return error_; }

    // One more buffer; every verb names all of them. Null if it failed.
    void* add_buffer(int32_t type, uint64_t count, pace_device device);
    void* add_buffer(int32_t type, uint64_t count);
    void* import_buffer(int32_t type, uint64_t count, const pace_buffer_options& options);
    const pace_buffer& buffer(size_t index) const { return buffers_[index]; }

    // Queued on the worker's stream.
    void fill(size_t index, const std::vector<float>& values);
    std::vector<float> values(size_t index);
    // The same of another type, bit by bit.
    template <typename T>
    void fill_with(size_t index, const std::vector<T>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        write(index, {bytes.begin(), bytes.end()});
    }
    template <typename T>
    std::vector<T> values_of(size_t index) {
        std::vector<T> values(memory_[index].count);
        read(index, std::as_writable_bytes(std::span(values)));
        return values;
    }

    void read(size_t index, std::span<std::byte> to);

    pace_status reduce(pace_request& ret_request, int32_t op = PACE_OP_SUM);
    // The sum of one buffer, into another.
    pace_status reduce_into(pace_request& ret_request, size_t given, size_t result);
    pace_status average(pace_request& ret_request, uint64_t iteration);
    pace_status broadcast(pace_request& ret_request, uint32_t root);
    pace_status wait(pace_request request, int64_t timeout_ms = Worker::kPatienceMs);
    pace_status wait_on_stream(pace_request request);

  private:
    // The call follows the stream.
    void order(pace_call& ret_call) const;

    void write(size_t index, std::vector<std::byte> bytes);

    struct Memory {
        void* data = nullptr;
        uint64_t count = 0;
    };
    Worker worker_;
    uint32_t ordinal_;
    std::vector<pace_buffer> buffers_;
    std::vector<Memory> memory_;
    std::deque<std::vector<std::byte>> written_;  // until the stream has come to it
    TestGpu gpu_;                                 // waits for its streams in the end
    base::cuda::CUstream stream_;
    bool is_on_gpu_ = false;
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    pace_error error_{};
};

}  // namespace pace::cluster
