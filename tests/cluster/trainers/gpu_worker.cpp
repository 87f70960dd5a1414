#include "tests/cluster/trainers/gpu_worker.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "capi/testing/calls.h"

namespace pace::cluster {

using namespace base::cuda;  // the driver's own names

namespace {

void must(CUresult result, const char* what) {
    if (result == kSuccess) return;
    ADD_FAILURE() << TestGpu::driver().error(result, what).message;
}

CUdeviceptr address_of(const void* device) {
    return static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(device));
}

}  // namespace

std::string TestGpu::absence() {
    if (!CudaDriver::get()) return CudaDriver::get().error().message;
    int count = 0;
    (void)driver().device_get_count(&count);
    return count == 0 ? "the NVIDIA driver finds no GPU" : "";
}

std::string TestGpu::too_few(int wanted) {
    int count = 0;
    (void)driver().device_get_count(&count);
    return count >= wanted ? "" : fmt::format("this needs {} GPUs; there are {}", wanted, count);
}

PinnedFloats::PinnedFloats(const TestGpu& gpu, size_t count)
    : gpu_(gpu),
      count_(count),
      memory_(base::MappedMemfd::create("test", count * sizeof(float), false).value()) {
    const ContextScope scope = gpu_.enter();
    must(TestGpu::driver().mem_host_register(memory_.data(), memory_.size(), kRegisterPortable),
         "pin memory of the host");
}

PinnedFloats::~PinnedFloats() {
    const ContextScope scope = gpu_.enter();
    must(TestGpu::driver().mem_host_unregister(memory_.data()), "unpin memory of the host");
}

TestGpu::TestGpu(int ordinal) {
    must(driver().device_get(&device_, ordinal), "look at the GPU");
    must(driver().primary_context_retain(&context_, device_), "open the GPU");
}

TestGpu::~TestGpu() {
    {
        const ContextScope scope = enter();
        for (CUstream stream : streams_) {
            must(driver().stream_synchronize(stream), "wait for a stream");
            must(driver().stream_destroy(stream), "destroy a stream");
        }
    }
    must(driver().primary_context_release(device_), "close the GPU");
}

CUstream TestGpu::stream() {
    const ContextScope scope = enter();
    CUstream stream = nullptr;
    must(driver().stream_create(&stream, kStreamNonBlocking), "make a stream");
    streams_.push_back(stream);
    return stream;
}

void TestGpu::write(void* device, const void* from, size_t bytes, CUstream stream) const {
    const ContextScope scope = enter();
    must(driver().copy_to_device(address_of(device), from, bytes, stream), "copy to the GPU");
}

void TestGpu::read(void* to, const void* device, size_t bytes, CUstream stream) const {
    const ContextScope scope = enter();
    must(driver().copy_to_host(to, address_of(device), bytes, stream), "copy from the GPU");
    must(driver().stream_synchronize(stream), "wait for a stream");
}

GpuWorker::GpuWorker(const WorkerOptions& options, uint32_t ordinal)
    : worker_(options), ordinal_(ordinal), gpu_(static_cast<int>(ordinal)), stream_(gpu_.stream()) {
    EXPECT_EQ(worker_.opened(), PACE_OK) << worker_.complaint();
}

void* GpuWorker::add_buffer(int32_t type, uint64_t count) {
    return add_buffer(type, count, on_gpu(ordinal_));
}

void* GpuWorker::add_buffer(int32_t type, uint64_t count, pace_device device) {
    pace_buffer_options options = PACE_BUFFER_OPTIONS_INIT;
    options.device = device;
    return import_buffer(type, count, options);
}

void* GpuWorker::import_buffer(int32_t type, uint64_t count, const pace_buffer_options& options) {
    pace_buffer buffer{};
    void* data = nullptr;
    if (pace_buffer_create(session(), type, count, &options, &buffer, &data, &error_) != PACE_OK)
        return nullptr;
    buffers_.push_back(buffer);
    is_on_gpu_ = options.device.type == PACE_DEVICE_CUDA;
    memory_.push_back({data, count});
    return data;
}

void GpuWorker::fill(size_t index, const std::vector<float>& values) {
    fill_with(index, values);
}

void GpuWorker::write(size_t index, std::vector<std::byte> bytes) {
    written_.push_back(std::move(bytes));
    gpu_.write(memory_[index].data, written_.back().data(), written_.back().size(), stream_);
}

void GpuWorker::read(size_t index, std::span<std::byte> to) {
    gpu_.read(to.data(), memory_[index].data, to.size(), stream_);
    written_.clear();
}

std::vector<float> GpuWorker::values(size_t index) {
    return values_of<float>(index);
}

// Buffers of the host follow no stream.
void GpuWorker::order(pace_call& ret_call) const {
    if (!is_on_gpu_) return;
    ret_call.device = on_gpu(ordinal_);
    ret_call.stream = stream_;
}

pace_status GpuWorker::reduce(pace_request& ret_request, int32_t op) {
    pace_reduce_options options = PACE_REDUCE_OPTIONS_INIT;
    options.op = op;
    order(options.call);
    return pace_reduce(session(), Slices(buffers_.data(), buffers_.size()), buffers_.size(),
                       &options, &ret_request, &error_);
}

pace_status GpuWorker::reduce_into(pace_request& ret_request, size_t given, size_t result) {
    pace_reduce_options options = PACE_REDUCE_OPTIONS_INIT;
    options.op = PACE_OP_SUM;
    order(options.call);
    const pace_slice from = PACE_WHOLE(buffers_[given]);
    const pace_slice to = PACE_WHOLE(buffers_[result]);
    options.call.results = &to;
    options.call.result_count = 1;
    return pace_reduce(session(), &from, 1, &options, &ret_request, &error_);
}

pace_status GpuWorker::average(pace_request& ret_request, uint64_t iteration) {
    auto how = average_at(iteration);
    order(how.options.call);
    return pace_average(session(), Slices(buffers_.data(), buffers_.size()), buffers_.size(), how,
                        &ret_request, &error_);
}

pace_status GpuWorker::broadcast(pace_request& ret_request, uint32_t root) {
    auto how = broadcast_from(root);
    order(how.options.call);
    return pace_broadcast(session(), Slices(buffers_.data(), buffers_.size()), buffers_.size(), how,
                          &ret_request, &error_);
}

pace_status GpuWorker::wait(pace_request request, int64_t timeout_ms) {
    info_ = PACE_REQUEST_INFO_INIT;
    return pace_request_wait(session(), request, timeout_ms, nullptr, &info_, &error_);
}

pace_status GpuWorker::wait_on_stream(pace_request request, uint32_t flags, int64_t timeout_ms) {
    info_ = PACE_REQUEST_INFO_INIT;
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    how.flags = flags;
    how.device = on_gpu(ordinal_);
    how.stream = stream_;
    return pace_request_wait(session(), request, timeout_ms, &how, &info_, &error_);
}

pace_status GpuWorker::reduce_one(pace_request& ret_request, size_t index) {
    pace_reduce_options options = PACE_REDUCE_OPTIONS_INIT;
    options.op = PACE_OP_SUM;
    order(options.call);
    const pace_slice all = PACE_WHOLE(buffers_[index]);
    return pace_reduce(session(), &all, 1, &options, &ret_request, &error_);
}

void GpuWorker::copy_out(size_t index, PinnedFloats& to) {
    const ContextScope scope = gpu_.enter();
    must(TestGpu::driver().copy_to_host(to.place().data(), address_of(memory_[index].data),
                                        to.place().size_bytes(), stream_),
         "copy from the GPU");
}

bool GpuWorker::stream_comes() {
    const base::cuda::CudaDriver& driver = TestGpu::driver();
    const ContextScope scope = gpu_.enter();
    base::cuda::CUevent event = nullptr;
    must(driver.event_create(&event, base::cuda::kEventDisableTiming), "make an event");
    must(driver.event_record(event, stream_), "mark a place in a stream");
    const Deadline end = soon();
    base::cuda::CUresult state = base::cuda::kNotReady;
    while (state == base::cuda::kNotReady && std::chrono::steady_clock::now() < end) {
        state = driver.event_query(event);
        std::this_thread::yield();
    }
    (void)driver.event_destroy(event);
    return state == base::cuda::kSuccess;
}

}  // namespace pace::cluster
