#include "bench/gpu/exchange/worker.h"

#include <cstring>
#include <random>
#include <string>

#include "capi/testing/asked_session.h"
#include "capi/testing/calls.h"

namespace pace::gpu_bench {

using namespace base::cuda;  // the driver's own names

namespace {

void must(pace_status status, const pace_error& error) {
    if (status != PACE_OK) stop(std::string(pace_status_name(status)) + ": " + error.message);
}

}  // namespace

Worker::Worker(const Options& options, uint32_t rank)
    : on_host_(options.on_host),
      ordinal_(static_cast<int32_t>(rank % options.gpus)),
      gpu_(ordinal_) {
    pace::AskedSession job;
    job.job = "gpu-exchange";
    job.rank = rank;
    job.world = options.workers;
    job.policy = PACE_POLICY_ALL_REDUCE;
    if (options.density > 0) {
        job.set(PACE_OPT_COMPRESSION, "spardl");
        job.set(PACE_OPT_TOPK_DENSITY, options.density);
        job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
    }
    job.endpoint = options.endpoints[rank % options.endpoints.size()];
    must(job.open(&session_, &error_), error_);
    pace_buffer_options where = PACE_BUFFER_OPTIONS_INIT;
    if (!on_host_) where.device = {PACE_DEVICE_CUDA, ordinal_};
    must(pace_buffer_create(session_, PACE_F32, options.bytes / sizeof(float), &where, &buffer_,
                            &data_, &error_),
         error_);
    if (options.density > 0) make_gradient(options.bytes, rank);
}

Worker::~Worker() {
    pace_session_leave(session_, 1000, nullptr);
    pace_session_free(session_);
}

void Worker::prepare() {
    if (gradient_.empty()) return;
    const size_t bytes = gradient_.size() * sizeof(float);
    if (on_host_) {
        std::memcpy(data_, gradient_.data(), bytes);
        return;
    }
    must(driver().copy_on_device(reinterpret_cast<CUdeviceptr>(data_), on_gpu_, bytes, stream_),
         "copy");
    must(driver().stream_synchronize(stream_), "wait");
}

void Worker::exchange() {
    pace_request request{};
    pace_reduce_options mean = PACE_REDUCE_OPTIONS_INIT;
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    if (!on_host_) {
        mean.call.device = {PACE_DEVICE_CUDA, ordinal_};
        mean.call.stream = stream_;
        how.device = {PACE_DEVICE_CUDA, ordinal_};
        how.stream = stream_;
    }
    must(pace_reduce(session_, pace::Slices(&buffer_, 1), 1, &mean, &request, &error_), error_);
    must(pace_request_wait(session_, request, PACE_FOREVER, &how, nullptr, &error_), error_);
    if (!on_host_) must(driver().stream_synchronize(stream_), "wait");
}

void Worker::make_gradient(uint64_t bytes, uint32_t rank) {
    std::mt19937 random(rank);
    std::normal_distribution<float> normal;
    gradient_.resize(bytes / sizeof(float));
    for (float& value : gradient_) value = normal(random);
    if (on_host_) return;
    must(driver().mem_alloc(&on_gpu_, bytes), "allocate");  // freed with the process
    must(driver().copy_to_device(on_gpu_, gradient_.data(), bytes, stream_), "copy");
    must(driver().stream_synchronize(stream_), "wait");
}

}  // namespace pace::gpu_bench
