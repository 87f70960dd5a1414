#include "bench/gpu/exchange/gpu.h"

#include <algorithm>
#include <cstdio>

#include "bench/gpu/exchange/options.h"

namespace pace::gpu_bench {

using namespace base::cuda;  // the driver's own names

const CudaDriver& driver() {
    if (!CudaDriver::get())
        stop("there is no GPU here: " + CudaDriver::get().error().message, kSkipped);
    return **CudaDriver::get();
}

void must(CUresult result, const char* what) {
    if (result != kSuccess) stop(driver().error(result, what).message);
}

void need_gpus(uint32_t wanted) {
    int count = 0;
    (void)driver().device_get_count(&count);
    if (count == 0) stop("there is no GPU here: the NVIDIA driver finds none", kSkipped);
    if (static_cast<uint32_t>(count) < wanted)
        stop("--gpus " + std::to_string(wanted) + ": there are " + std::to_string(count), kSkipped);
}

Gpu::Gpu(int ordinal) {
    must(driver().device_get(&device_, ordinal), "look at the GPU");
    must(driver().primary_context_retain(&context_, device_), "open the GPU");
    must(driver().context_push(context_), "use the GPU");
}

Gpu::~Gpu() {
    CUcontext was = nullptr;
    (void)driver().context_pop(&was);
    (void)driver().primary_context_release(device_);
}

CUstream Gpu::stream() {
    CUstream made = nullptr;
    must(driver().stream_create(&made, kStreamNonBlocking), "make a stream");
    return made;
}

std::string Gpu::name() const {
    char text[128] = {};
    must(driver().device_get_name(text, sizeof(text) - 1, device_), "ask the GPU's name");
    return text;
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void print(const std::string& what, std::vector<double> seconds, double bytes) {
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    std::printf("%-34s median %10.1f us  (%.1f .. %.1f)  %8.2f GB/s\n", what.c_str(), median * 1e6,
                seconds.front() * 1e6, seconds.back() * 1e6, bytes / median / 1e9);
    std::fflush(stdout);
}

}  // namespace pace::gpu_bench
