// cuda_bench: throughput of the plug-in's kernels relative to the device's copy rate, measured in
// one run.
//
//     cuda_bench [--json FILE]
//
// The program exits with 77 if there is no device. A rate counts every byte that must be read and
// every byte that must be written once. So it can be compared with a copy, which reads and writes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "daemon/kernels/cuda/tests/test_memory.h"
#include "daemon/kernels/cuda/tests/test_plugin.h"
#include "protocol/types.h"

namespace {

using namespace pace;
using kernels::cuda::DeviceMemory;
using kernels::cuda::plugin;

constexpr size_t kBufferBytes = size_t{1} << 30U;
constexpr size_t kSelectElements = 100000000;
constexpr size_t kSelected = kSelectElements / 100;
constexpr int kRepetitions = 15;
constexpr int kNoDevice = 77;

struct Row {
    std::string name;
    // The bytes that one repetition must read and write.
    double bytes;
    std::vector<double> milliseconds;  // sorted

    double median() const { return milliseconds[milliseconds.size() / 2]; }
    double rate(double ms) const { return bytes / ms / 1e6; }  // GB/s
};

bool is_ok(cudaError_t error, const char* what) {
    if (error != cudaSuccess) std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    return error == cudaSuccess;
}

// Measures the time of the work that `queue` queues, after the work that `prepare` queues. CUDA
// events measure the time. The meter has no times after a failure.
class Meter {
  public:
    using Queue = std::function<int(cudaStream_t)>;

    Meter() {
        is_ready_ = is_ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream") &&
                    is_ok(cudaEventCreate(&begin_), "event") &&
                    is_ok(cudaEventCreate(&end_), "event");
    }
    ~Meter() {
        (void)cudaEventDestroy(end_);
        (void)cudaEventDestroy(begin_);
        (void)cudaStreamDestroy(stream_);
    }
    Meter(const Meter&) = delete;
    Meter& operator=(const Meter&) = delete;

    // Returns false on a failure. The row is then not kept.
    bool measure(
        const std::string& name, double bytes, const Queue& queue,
        const Queue& prepare = [](cudaStream_t) { return 0; }) {
        Row row{name, bytes, {}};
        for (int i = 0; i <= kRepetitions; ++i) {
            float ms = 0;
            if (!is_ready_ || !repeat(queue, prepare, ms)) return false;
            if (i > 0) row.milliseconds.push_back(ms);  // the first one loads the kernels
        }
        std::sort(row.milliseconds.begin(), row.milliseconds.end());
        rows_.push_back(row);
        return true;
    }

    const std::vector<Row>& rows() const { return rows_; }

  private:
    bool repeat(const Queue& queue, const Queue& prepare, float& ret_ms) {
        return is_queued(prepare(stream_)) && is_ok(cudaEventRecord(begin_, stream_), "event") &&
               is_queued(queue(stream_)) && is_ok(cudaEventRecord(end_, stream_), "event") &&
               is_ok(cudaEventSynchronize(end_), "kernel") &&
               is_ok(cudaEventElapsedTime(&ret_ms, begin_, end_), "event");
    }

    static bool is_queued(int error) { return is_ok(static_cast<cudaError_t>(error), "launch"); }

    bool is_ready_ = false;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
    std::vector<Row> rows_;
};

// The values are roughly bell-shaped with long tails, like gradients.
std::vector<float> gradient_like(size_t count) {
    base::Random random(1);
    std::vector<float> vector(count);
    for (float& value : vector) {
        const double u = random.uniform() + random.uniform() + random.uniform() - 1.5;
        value = static_cast<float>(1e-3 * u * u * u);
    }
    return vector;
}

// Fills memory with `elements`, repeatedly.
bool fill(const DeviceMemory& memory, std::span<const float> elements) {
    for (size_t at = 0; at < memory.bytes();) {
        const size_t bytes = std::min(elements.size_bytes(), memory.bytes() - at);
        if (!is_ok(cudaMemcpy(memory.at() + at, elements.data(), bytes, cudaMemcpyHostToDevice),
                   "fill"))
            return false;
        at += bytes;
    }
    return true;
}

bool measure_copy(const DeviceMemory& from, const DeviceMemory& to, Meter& meter) {
    return meter.measure("copy", 2.0 * kBufferBytes, [&](cudaStream_t stream) {
        return cudaMemcpyAsync(to.at(), from.at(), kBufferBytes, cudaMemcpyDeviceToDevice, stream);
    });
}

// Measures a mean, so that in-place sums keep the magnitude of their inputs.
bool measure_sum(const std::vector<DeviceMemory>& buffers, size_t members,
                 const DeviceMemory* apart, Meter& meter) {
    pace_device_sum sum = {};
    sum.dtype = static_cast<pace_device_dtype>(protocol::DType::f32);
    sum.count = kBufferBytes / sizeof(float);
    sum.scale = 1.0 / static_cast<double>(members);
    for (size_t k = 0; k < members; ++k) {
        sum.weights[sum.input_count] = 1.0;
        sum.inputs[sum.input_count++] = buffers[k].at();
        if (apart == nullptr) sum.outputs[sum.output_count++] = buffers[k].at();
    }
    if (apart != nullptr) sum.outputs[sum.output_count++] = apart->at();
    const std::string name = "sum of " + std::to_string(members) +
                             (apart == nullptr ? " into all, in place" : " into one apart");
    const double bytes = static_cast<double>(sum.input_count + sum.output_count) * kBufferBytes;
    return meter.measure(name, bytes,
                         [&](cudaStream_t stream) { return plugin()->sum(&sum, stream); });
}

bool measure_sums(Meter& meter) {
    const std::vector<float> elements = gradient_like(size_t{1} << 24U);
    std::vector<DeviceMemory> buffers;
    while (buffers.size() < 9) {
        DeviceMemory memory(kBufferBytes);
        if (memory.at() == nullptr) break;
        if (!fill(memory, elements)) return false;
        buffers.push_back(std::move(memory));
    }
    if (buffers.size() < 2) return is_ok(cudaErrorMemoryAllocation, "two buffers of 1 GiB");
    if (!measure_copy(buffers[0], buffers[1], meter)) return false;
    for (const size_t members : {2, 4, 8}) {
        if (buffers.size() <= members) {
            std::printf("no room for %zu buffers of 1 GiB\n", members + 1);
            return true;
        }
        if (!measure_sum(buffers, members, nullptr, meter) ||
            !measure_sum(buffers, members, &buffers[members], meter))
            return false;
    }
    return true;
}

// Many short buffers, as a model's gradients are: all in one call, and each in one of its own.
bool measure_segments(size_t members, Meter& meter) {
    constexpr size_t kSegments = 256;
    constexpr uint64_t kElements = (size_t{64} << 10U) / sizeof(float);
    const DeviceMemory memory(members * kSegments * kElements * sizeof(float));
    if (memory.at() == nullptr) return is_ok(cudaErrorMemoryAllocation, "short buffers");
    if (!fill(memory, gradient_like(size_t{1} << 20U))) return false;
    const std::vector<uint64_t> counts(kSegments, kElements);
    std::vector<const void*> inputs;
    for (size_t i = 0; i < kSegments * members; ++i)
        inputs.push_back(memory.at<float>(i * kElements));
    pace_device_sum_segments all = {};
    all.input_count = static_cast<uint32_t>(members);
    all.segment_count = kSegments;
    all.scale = 1.0 / static_cast<double>(members);
    std::fill_n(all.weights, members, 1.0);
    all.counts = counts.data();
    all.inputs = inputs.data();
    pace_device_sum_segments one = all;
    one.segment_count = 1;
    const auto each = [&](cudaStream_t stream) {
        for (size_t s = 0; s < kSegments; ++s) {
            one.inputs = inputs.data() + s * members;
            if (const int failed = plugin()->sum_segments(&one, stream); failed != 0) return failed;
        }
        return 0;
    };
    const std::string name = "256 x 64 KiB of " + std::to_string(members);
    const double bytes = 2.0 * static_cast<double>(memory.bytes());
    return meter.measure(name + ", in one call", bytes, [&](cudaStream_t stream) {
        return plugin()->sum_segments(&all, stream);
    }) && meter.measure(name + ", a call each", bytes, each);
}

bool measure_top_k(Meter& meter) {
    const std::vector<float> elements = gradient_like(kSelectElements);
    const DeviceMemory original(kSelectElements * sizeof(float));
    const DeviceMemory in(original.bytes());
    const DeviceMemory apart(original.bytes());
    const DeviceMemory out(kSelected * (sizeof(uint32_t) + sizeof(float)) + sizeof(uint64_t));
    const DeviceMemory workspace(plugin()->top_k_workspace(kSelectElements, kSelected));
    for (const DeviceMemory* memory : {&original, &in, &apart, &out, &workspace})
        if (memory->at() == nullptr)
            return is_ok(cudaErrorMemoryAllocation, "vectors of 100 M elements");
    if (!fill(original, elements)) return false;
    pace_device_top_k top_k = {};
    top_k.count = kSelectElements;
    top_k.k = kSelected;
    top_k.in = in.at<float>();
    top_k.out_count = out.at<uint64_t>();
    top_k.indices = out.at<uint32_t>(2);
    top_k.values = out.at<float>(2 + kSelected);
    top_k.workspace = workspace.at();
    top_k.workspace_bytes = workspace.bytes();
    const auto restore = [&](cudaStream_t stream) {
        return cudaMemcpyAsync(in.at(), original.at(), in.bytes(), cudaMemcpyDeviceToDevice,
                               stream);
    };
    const auto queue = [&](cudaStream_t stream) { return plugin()->top_k(&top_k, stream); };
    const auto read = static_cast<double>(in.bytes());
    const auto written = static_cast<double>(out.bytes());
    if (!meter.measure("top-k, 1 % of 100 M", read + written, queue, restore)) return false;
    top_k.residual = in.at<float>();
    if (!meter.measure("top-k, residual in place", read + written, queue, restore)) return false;
    top_k.residual = apart.at<float>();
    return meter.measure("top-k, residual apart", 2 * read + written, queue, restore);
}

void print(const std::vector<Row>& rows) {
    const double copy = rows.front().rate(rows.front().median());
    for (const Row& row : rows)
        std::printf("%-30s %8.3f ms (%.3f .. %.3f)  %7.1f GB/s  %5.1f %% of copy\n",
                    row.name.c_str(), row.median(), row.milliseconds.front(),
                    row.milliseconds.back(), row.rate(row.median()),
                    100 * row.rate(row.median()) / copy);
}

bool write_json(const char* path, const char* device, const std::vector<Row>& rows) {
    FILE* file = std::fopen(path, "w");
    if (file == nullptr) return false;
    const double copy = rows.front().rate(rows.front().median());
    std::fprintf(file, "{\"device\": \"%s\", \"plugin\": \"%s\", \"repetitions\": %d, \"rows\": [",
                 device, plugin()->name, kRepetitions);
    for (size_t i = 0; i < rows.size(); ++i) {
        const Row& row = rows[i];
        std::fprintf(
            file,
            "%s\n  {\"name\": \"%s\", \"bytes\": %.0f, \"ms_median\": %.6f, \"ms_min\": %.6f, "
            "\"ms_max\": %.6f, \"gb_per_s_median\": %.3f, \"gb_per_s_min\": %.3f, "
            "\"gb_per_s_max\": %.3f, \"percent_of_copy\": %.2f}",
            i > 0 ? "," : "", row.name.c_str(), row.bytes, row.median(), row.milliseconds.front(),
            row.milliseconds.back(), row.rate(row.median()), row.rate(row.milliseconds.back()),
            row.rate(row.milliseconds.front()), 100 * row.rate(row.median()) / copy);
    }
    std::fprintf(file, "\n]}\n");
    return std::fclose(file) == 0;
}

// Null means that the plug-in works with a device.
const char* why_no_device() {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess) return cudaGetErrorString(error);
    if (devices == 0) return "there is none";
    if (cudaSetDevice(0) != cudaSuccess) return "it cannot be used";
    if (plugin() == nullptr) return dlerror();
    const int unfit = plugin()->check(0);
    return unfit != 0 ? plugin()->error_text(unfit) : nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    const char* json = nullptr;
    if (argc == 3 && std::strcmp(argv[1], "--json") == 0) {
        json = argv[2];
    } else if (argc != 1) {
        std::fprintf(stderr, "usage: cuda_bench [--json FILE]\n");
        return 2;
    }
    if (const char* reason = why_no_device(); reason != nullptr) {
        std::printf("no device: %s\n", reason);
        return kNoDevice;
    }
    cudaDeviceProp device = {};
    if (!is_ok(cudaGetDeviceProperties(&device, 0), "device")) return 1;
    std::printf("%s, %s, median of %d (min .. max)\n", device.name, plugin()->name, kRepetitions);
    Meter meter;
    if (!measure_sums(meter) || !measure_segments(2, meter) || !measure_segments(8, meter) ||
        !measure_top_k(meter))
        return 1;
    print(meter.rows());
    if (json != nullptr && !write_json(json, device.name, meter.rows())) {
        std::fprintf(stderr, "%s cannot be written\n", json);
        return 1;
    }
    return 0;
}
