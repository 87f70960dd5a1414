#include "bench/gpu/exchange/copies.h"

#include <cstdio>
#include <vector>

#include "bench/gpu/exchange/gpu.h"

namespace pace::gpu_bench {

using namespace base::cuda;  // the driver's own names

void measure_copies(const Options& options) {
    need_gpus(1);
    const Gpu gpu(0);
    std::printf("%s\n", gpu.name().c_str());
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    must(driver().mem_alloc(&first, options.bytes), "allocate");
    must(driver().mem_alloc(&second, options.bytes), "allocate");
    std::vector<char> here(options.bytes);
    std::vector<char> there(options.bytes);
    must(driver().mem_host_register(here.data(), options.bytes, kRegisterPortable), "pin");
    must(driver().mem_host_register(there.data(), options.bytes, kRegisterPortable), "pin");
    const CUstream in = Gpu::stream();
    const CUstream out = Gpu::stream();
    const auto time = [&](const char* what, double bytes, auto queue) {
        std::vector<double> seconds;
        for (int i = 0; i < 12; ++i) {
            const auto start = Clock::now();
            queue();
            must(driver().stream_synchronize(in), "wait");
            must(driver().stream_synchronize(out), "wait");
            if (i >= 2) seconds.push_back(seconds_since(start));
        }
        print(what, seconds, bytes);
    };
    const auto to_host = [&] {
        must(driver().copy_to_host(here.data(), first, options.bytes, in), "copy");
    };
    const auto to_device = [&] {
        must(driver().copy_to_device(second, there.data(), options.bytes, out), "copy");
    };
    const auto bytes = static_cast<double>(options.bytes);
    time("device to host", bytes, to_host);
    time("host to device", bytes, to_device);
    time("both at once", 2 * bytes, [&] {
        to_host();
        to_device();
    });
    time("on the device (read + written)", 2 * bytes,
         [&] { must(driver().copy_on_device(second, first, options.bytes, in), "copy"); });
}

}  // namespace pace::gpu_bench
