// GpuWorker: a session of the test's own process whose buffers are on a GPU. The worker writes and
// reads the buffers on a stream.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/memory/memfd.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {

// The driver that the tests use, its first device and the context of that device. The test fails if
// there is no device. The simulated device is always there.
class TestGpu {
  public:
    static const base::cuda::CudaDriver& driver() { return **base::cuda::CudaDriver::get(); }
    // Returns an empty string if there is a device. Otherwise returns the reason why there is none.
    static std::string absence();
    // Returns the same for `wanted` devices.
    static std::string too_few(int wanted);

    explicit TestGpu(int ordinal = 0);
    ~TestGpu();
    TestGpu(const TestGpu&) = delete;
    TestGpu& operator=(const TestGpu&) = delete;

    base::cuda::ContextScope enter() const { return {driver(), context_}; }
    base::cuda::CUstream stream();
    void write(void* device, const void* from, size_t bytes, base::cuda::CUstream stream) const;
    // Reads when the stream has come to this call.
    void read(void* to, const void* device, size_t bytes, base::cuda::CUstream stream) const;

  private:
    base::cuda::CUdevice device_ = 0;
    base::cuda::CUcontext context_ = nullptr;
    std::vector<base::cuda::CUstream> streams_;
};

// Memory of the host to which a stream copies while its caller goes on. To memory that is not
// pinned, the driver copies before it returns.
class PinnedFloats {
  public:
    PinnedFloats(const TestGpu& gpu, size_t count);
    ~PinnedFloats();
    PinnedFloats(const PinnedFloats&) = delete;
    PinnedFloats& operator=(const PinnedFloats&) = delete;

    std::span<float> place() { return {reinterpret_cast<float*>(memory_.data()), count_}; }
    std::vector<float> values() { return {place().begin(), place().end()}; }

  private:
    const TestGpu& gpu_;
    size_t count_;
    base::MappedMemfd memory_;
};

// DLManagedTensor, as the specification of DLPack has it.
struct Tensor {
    void* data;
    pace_device device;
    int32_t ndim;
    uint32_t dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
    void* manager;
    void (*deleter)(Tensor*);
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
    // Returns the error of the last call of this worker that failed.
    const pace_error& error() const { return error_; }

    // Adds a buffer. Every call names all buffers. Returns null on a failure.
    void* add_buffer(int32_t type, uint64_t count, pace_device device);
    void* add_buffer(int32_t type, uint64_t count);
    void* import_buffer(int32_t type, uint64_t count, const pace_buffer_options& options);
    const pace_buffer& buffer(size_t index) const { return buffers_[index]; }

    // Writes the values. The write is queued on the worker's stream.
    void fill(size_t index, const std::vector<float>& values);
    std::vector<float> values(size_t index);
    // Does the same with another type, bit by bit.
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
    // Begins a sum of one buffer into another.
    pace_status reduce_into(pace_request& ret_request, size_t given, size_t result);
    pace_status average(pace_request& ret_request, uint64_t iteration);
    pace_status broadcast(pace_request& ret_request, uint32_t root);
    pace_status wait(pace_request request, int64_t timeout_ms = Worker::kPatienceMs);
    pace_status wait_on_stream(pace_request request, uint32_t flags = 0,
                               int64_t timeout_ms = Worker::kPatienceMs);
    // Begins a sum of one buffer.
    pace_status reduce_one(pace_request& ret_request, size_t index);
    // Copies a buffer to this memory when the stream has come to the call. Waits for nothing.
    void copy_out(size_t index, PinnedFloats& to);
    // Whether the stream has done all that is queued on it by now, within some seconds.
    bool stream_comes();

  private:
    // Makes the call follow the stream.
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
    // Kept until the stream has written them.
    std::deque<std::vector<std::byte>> written_;
    // Its destructor waits for its streams.
    TestGpu gpu_;
    base::cuda::CUstream stream_;
    bool is_on_gpu_ = false;
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    pace_error error_{};
};

}  // namespace pace::cluster
