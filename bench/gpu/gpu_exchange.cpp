// gpu_exchange: measures exchanges of buffers on a GPU. The workers are threads of this process.
// The daemons run already.
//
//   gpu_exchange copies --bytes N
//   gpu_exchange sum --endpoint E [--endpoint E]... --workers N --bytes N
//                    [--host] [--gpus N] [--exchanges N] [--density D]
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "capi/testing/asked_session.h"
#include "capi/testing/calls.h"
#include "pace.h"

namespace {

using namespace pace::base::cuda;  // the driver's own names
using Clock = std::chrono::steady_clock;

constexpr int kSkipped = 77;
// The least number of exchanges that are not counted.
constexpr int kWarmUp = 10;

[[noreturn]] void stop(const std::string& why, int status = 1) {
    std::fprintf(stderr, "gpu_exchange: %s\n", why.c_str());
    std::exit(status);
}

const CudaDriver& driver() {
    return **CudaDriver::get();
}

void must(CUresult result, const char* what) {
    if (result != kSuccess) stop(driver().error(result, what).message);
}

void must(pace_status status, const pace_error& error) {
    if (status != PACE_OK) stop(std::string(pace_status_name(status)) + ": " + error.message);
}

struct Options {
    std::string what;
    std::vector<std::string> endpoints;
    uint32_t workers = 2;
    uint64_t bytes = 4096;
    bool on_host = false;
    // The number of GPUs. The workers take one each, in turn.
    uint32_t gpus = 1;
    int exchanges = 200;
    // The density of a top-k reduction. 0 means all elements.
    double density = 0;
};

Options parse(int argc, char** argv) {
    Options options;
    if (argc < 2) stop("say copies or sum", 2);
    options.what = argv[1];
    for (int i = 2; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--host") {
            options.on_host = true;
            continue;
        }
        if (i + 1 == argc) stop(name + " needs a value", 2);
        const std::string value = argv[++i];
        if (name == "--endpoint")
            options.endpoints.push_back(value);
        else if (name == "--workers")
            options.workers = static_cast<uint32_t>(std::stoul(value));
        else if (name == "--bytes")
            options.bytes = std::stoull(value);
        else if (name == "--gpus")
            options.gpus = static_cast<uint32_t>(std::stoul(value));
        else if (name == "--exchanges")
            options.exchanges = std::stoi(value);
        else if (name == "--density")
            options.density = std::stod(value);
        else
            stop("unknown flag " + name, 2);
    }
    return options;
}

void print(const std::string& what, std::vector<double> seconds, double bytes) {
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    std::printf("%-34s median %10.1f us  (%.1f .. %.1f)  %8.2f GB/s\n", what.c_str(), median * 1e6,
                seconds.front() * 1e6, seconds.back() * 1e6, bytes / median / 1e9);
    std::fflush(stdout);
}

// One of the GPUs, with a context that is current in the calling thread.
class Gpu {
  public:
    explicit Gpu(int ordinal) {
        must(driver().device_get(&device_, ordinal), "look at the GPU");
        must(driver().primary_context_retain(&context_, device_), "open the GPU");
        must(driver().context_push(context_), "use the GPU");
    }
    ~Gpu() {
        CUcontext was = nullptr;
        (void)driver().context_pop(&was);
        (void)driver().primary_context_release(device_);
    }
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    static CUstream stream() {
        CUstream made = nullptr;
        must(driver().stream_create(&made, kStreamNonBlocking), "make a stream");
        return made;
    }
    std::string name() const {
        char text[128] = {};
        must(driver().device_get_name(text, sizeof(text) - 1, device_), "ask the GPU's name");
        return text;
    }

  private:
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
};

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// ------------------------------------------------------------------------------------------ copies

void measure_copies(const Options& options) {
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

// -------------------------------------------------------------------------------------------- sums

class Worker {
  public:
    Worker(const Options& options, uint32_t rank)
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
    ~Worker() {
        pace_session_leave(session_, 1000, nullptr);
        pace_session_free(session_);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // The result of a top-k sum is no gradient. So the buffer gets another gradient, outside of the
    // measured time.
    void prepare() {
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

    // Returns when the stream has the result.
    void exchange() {
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

  private:
    void make_gradient(uint64_t bytes, uint32_t rank) {
        std::mt19937 random(rank);
        std::normal_distribution<float> normal;
        gradient_.resize(bytes / sizeof(float));
        for (float& value : gradient_) value = normal(random);
        if (on_host_) return;
        must(driver().mem_alloc(&on_gpu_, bytes), "allocate");  // freed with the process
        must(driver().copy_to_device(on_gpu_, gradient_.data(), bytes, stream_), "copy");
        must(driver().stream_synchronize(stream_), "wait");
    }

    bool on_host_;
    int32_t ordinal_;
    std::vector<float> gradient_;
    CUdeviceptr on_gpu_ = 0;
    void* data_ = nullptr;
    Gpu gpu_;
    CUstream stream_ = Gpu::stream();
    pace_session* session_ = nullptr;
    pace_buffer buffer_{};
    pace_error error_{};
};

void measure_sums(const Options& options) {
    if (options.endpoints.empty()) stop("sum needs --endpoint", 2);
    // Several GPUs are connected during the first exchanges, which takes seconds.
    const auto warm_at = Clock::now() + std::chrono::seconds(options.gpus > 1 ? 10 : 0);
    int begun = 0;
    int warm_up = kWarmUp;
    std::barrier together(static_cast<ptrdiff_t>(options.workers), [&]() noexcept {
        if (++begun > warm_up && Clock::now() < warm_at) ++warm_up;
    });
    std::vector<std::vector<double>> seconds(options.workers);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < options.workers; ++rank)
        threads.emplace_back([&, rank] {
            Worker worker(options, rank);
            for (int i = 0;; ++i) {
                worker.prepare();
                together.arrive_and_wait();
                if (i >= warm_up + options.exchanges) break;
                const auto start = Clock::now();
                worker.exchange();
                if (i >= warm_up) seconds[rank].push_back(seconds_since(start));
            }
        });
    for (std::thread& thread : threads) thread.join();
    std::vector<double> slowest(seconds[0]);
    for (const auto& one : seconds)
        for (size_t i = 0; i < one.size(); ++i) slowest[i] = std::max(slowest[i], one[i]);
    const std::string what = std::to_string(options.workers) + " workers, " +
                             std::to_string(options.endpoints.size()) + " nodes, " +
                             (options.on_host     ? "host"
                              : options.gpus == 1 ? "GPU"
                                                  : std::to_string(options.gpus) + " GPUs") +
                             (options.density > 0 ? ", top-k" : "");
    // Each worker's buffer is read and written.
    print(what, slowest, 2.0 * options.workers * static_cast<double>(options.bytes));
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    if (!CudaDriver::get())
        stop("there is no GPU here: " + CudaDriver::get().error().message, kSkipped);
    int count = 0;
    (void)driver().device_get_count(&count);
    if (count == 0) stop("there is no GPU here: the NVIDIA driver finds none", kSkipped);
    if (options.gpus == 0 || static_cast<uint32_t>(count) < options.gpus)
        stop("--gpus " + std::to_string(options.gpus) + ": there are " + std::to_string(count),
             kSkipped);
    if (options.what == "copies")
        measure_copies(options);
    else if (options.what == "sum")
        measure_sums(options);
    else
        stop("say copies or sum", 2);
    return 0;
}
