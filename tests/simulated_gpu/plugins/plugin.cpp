// pace-device-simulated.so: a plug-in whose kernels do the daemon's own arithmetic. The thread of
// the stream on which they are queued runs them.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/half.h"
#include "daemon/device/plugin.h"
#include "daemon/kernels/pool.h"
#include "daemon/kernels/reduce.h"
#include "daemon/sparse/residual/top_k.h"
#include "daemon/sparse/wire/entries.h"
#include "protocol/types.h"
#include "tests/simulated_gpu/driver/state/environment.h"

namespace pace::simulated_gpu {

namespace {

using base::cuda::CudaDriver;
using base::cuda::CUresult;
using base::cuda::CUstream;
using protocol::DType;

constexpr CUresult kWrongCall = 1;      // CUDA_ERROR_INVALID_VALUE
constexpr CUresult kFailed = 719;       // CUDA_ERROR_LAUNCH_FAILED
constexpr CUresult kWithoutDriver = 3;  // CUDA_ERROR_NOT_INITIALIZED
constexpr CUresult kNotLoaded = 500;    // CUDA_ERROR_NOT_FOUND

// A real kernel that check() has not loaded would wait for the device at its first launch.
std::atomic<bool> loaded = false;
// Nothing is needed. Some bytes are asked for so that a caller's mistake shows.
constexpr size_t kWorkspaceBytes = 256;

// PACE_SIMULATED_KERNEL_FAIL=top_k:2 means that the second call and those after it fail.
constexpr std::array<std::string_view, 4> kKernels{"sum", "top_k", "gather", "scatter"};
enum class Kernel : uint8_t { sum, top_k, gather, scatter };

bool fails(Kernel kernel) {
    static const auto failing = [] {
        std::array<uint64_t, kKernels.size()> calls{};
        (void)read_numbers(variable("PACE_SIMULATED_KERNEL_FAIL"), kKernels, calls);
        return calls;
    }();
    static std::array<std::atomic<uint64_t>, kKernels.size()> calls_so_far;
    const auto index = static_cast<size_t>(kernel);
    return failing[index] != 0 && ++calls_so_far[index] >= failing[index];
}

template <typename Call>
struct Queued {
    Call call;
    void (*work)(const Call&);
};

// The caller's struct is only lent until this call returns.
template <typename Call>
int queue(Call call, void (*work)(const Call&), void* stream) {
    if (!loaded) return kNotLoaded;
    const auto& driver = CudaDriver::get();
    if (!driver) return kWithoutDriver;
    auto own = std::make_unique<Queued<Call>>(Queued<Call>{std::move(call), work});
    const auto run = [](void* data) {
        const std::unique_ptr<Queued<Call>> queued(static_cast<Queued<Call>*>(data));
        queued->work(queued->call);
    };
    const CUresult result =
        (*driver)->launch_host_function(static_cast<CUstream>(stream), run, own.get());
    if (result == base::cuda::kSuccess) (void)own.release();  // run() owns it
    return result;
}

bool is_summable(pace_device_dtype type) {
    return type <= static_cast<uint32_t>(DType::bf16) &&
           protocol::is_valid(static_cast<DType>(type));
}

void do_sum(const pace_device_sum& sum) {
    std::vector<kernels::Source> sources;
    for (uint32_t k = 0; k < sum.input_count; ++k)
        sources.push_back({static_cast<const std::byte*>(sum.inputs[k]), sum.weights[k]});
    std::vector<std::byte*> outs;
    for (uint32_t j = 0; j < sum.output_count; ++j)
        outs.push_back(static_cast<std::byte*>(sum.outputs[j]));
    kernels::weighted_sum_into_all(static_cast<DType>(sum.dtype), sources, sum.scale, outs,
                                   sum.count);
}

int sum(const pace_device_sum* call, void* stream) {
    if (fails(Kernel::sum)) return kFailed;
    if (!is_summable(call->dtype) || call->input_count > PACE_DEVICE_MEMBERS_MAX ||
        call->output_count > PACE_DEVICE_MEMBERS_MAX)
        return kWrongCall;
    return queue(*call, do_sum, stream);
}

// With arrays of its own: the caller's are only lent.
struct SegmentSums {
    pace_device_sum_segments call;
    std::vector<uint64_t> counts;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
};

SegmentSums own(const pace_device_sum_segments& call) {
    SegmentSums sums{call, {call.counts, call.counts + call.segment_count}, {}, {}};
    sums.inputs.assign(call.inputs, call.inputs + call.segment_count * call.input_count);
    if (call.output_count != 0)
        sums.outputs.assign(call.outputs, call.outputs + call.segment_count * call.output_count);
    return sums;
}

void do_sum_segments(const SegmentSums& sums) {
    const pace_device_sum_segments& call = sums.call;
    for (size_t s = 0; s < call.segment_count; ++s) {
        pace_device_sum sum{};
        sum.dtype = call.dtype;
        sum.count = sums.counts[s];
        sum.scale = call.scale;
        for (size_t k = 0; k < call.input_count; ++k) {
            sum.weights[sum.input_count] = call.weights[k];
            sum.inputs[sum.input_count++] = sums.inputs[s * call.input_count + k];
            if (call.output_count == 0)
                sum.outputs[sum.output_count++] =
                    const_cast<void*>(sums.inputs[s * call.input_count + k]);
        }
        for (size_t j = 0; j < call.output_count; ++j)
            sum.outputs[sum.output_count++] = sums.outputs[s * call.output_count + j];
        do_sum(sum);
    }
}

int sum_segments(const pace_device_sum_segments* call, void* stream) {
    if (fails(Kernel::sum)) return kFailed;
    if (!is_summable(call->dtype) || call->input_count == 0 ||
        call->input_count > PACE_DEVICE_MEMBERS_MAX || call->output_count > PACE_DEVICE_MEMBERS_MAX)
        return kWrongCall;
    return queue(own(*call), do_sum_segments, stream);
}

template <typename Element>
Element element_at(const void* in, uint64_t i) {
    Element element;
    std::memcpy(&element, static_cast<const std::byte*>(in) + i * sizeof(Element), sizeof(Element));
    return element;
}

template <typename Element>
void set_element(void* out, uint64_t i, Element element) {
    std::memcpy(static_cast<std::byte*>(out) + i * sizeof(Element), &element, sizeof(Element));
}

// Returns the element as a double. A double holds the values of every element type.
double load(DType type, const void* in, uint64_t i) {
    switch (type) {
        case DType::f32:
            return element_at<float>(in, i);
        case DType::f64:
            return element_at<double>(in, i);
        case DType::f16:
            return base::float_from_f16(element_at<uint16_t>(in, i));
        case DType::bf16:
            return base::float_from_bf16(element_at<uint16_t>(in, i));
        case DType::u32:  // indices, which are never converted
            break;
    }
    return 0;
}

// Rounds to odd. If the float is rounded once more, to fewer digits, the result is that of rounding
// `value` at once.
float rounded_to_odd(double value) {
    auto rounded = static_cast<float>(value);
    if (value != value || static_cast<double>(rounded) == value) return rounded;
    if (std::fabs(static_cast<double>(rounded)) > std::fabs(value))
        rounded = std::nextafterf(rounded, 0.0F);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(rounded) | 1U);
}

void store(DType type, void* out, uint64_t i, double value) {
    if (value != value) value = std::numeric_limits<double>::quiet_NaN();
    switch (type) {
        case DType::f32:
            return set_element(out, i, static_cast<float>(value));
        case DType::f64:
            return set_element(out, i, value);
        case DType::f16:
            return set_element(out, i, base::f16_from_float(rounded_to_odd(value)));
        case DType::bf16:
            return set_element(out, i, base::bf16_from_float(rounded_to_odd(value)));
        case DType::u32:
            break;
    }
}

void do_convert(const pace_device_convert& convert) {
    for (uint64_t i = 0; i < convert.count; ++i)
        store(static_cast<DType>(convert.to), convert.out, i,
              load(static_cast<DType>(convert.from), convert.in, i));
}

int convert(const pace_device_convert* call, void* stream) {
    if (!is_summable(call->from) || !is_summable(call->to)) return kWrongCall;
    return queue(*call, do_convert, stream);
}

size_t top_k_workspace(uint64_t, uint64_t) {
    return kWorkspaceBytes;
}

void do_top_k(const pace_device_top_k& top_k) {
    kernels::WorkerPool this_thread(0);
    const sparse::Entries chosen =
        sparse::top_k(std::span(top_k.in, top_k.count), top_k.k, this_thread);
    std::copy(chosen.indices.begin(), chosen.indices.end(), top_k.indices);
    std::copy(chosen.values.begin(), chosen.values.end(), top_k.values);
    *top_k.out_count = chosen.size();
    if (top_k.residual == nullptr) return;
    if (top_k.residual != top_k.in) std::copy(top_k.in, top_k.in + top_k.count, top_k.residual);
    for (const uint32_t index : chosen.indices) top_k.residual[index] = 0;
}

int top_k(const pace_device_top_k* call, void* stream) {
    if (fails(Kernel::top_k)) return kFailed;
    if (call->k == 0 || call->k > call->count ||
        call->count > std::numeric_limits<uint32_t>::max() ||
        call->workspace_bytes < kWorkspaceBytes)
        return kWrongCall;
    return queue(*call, do_top_k, stream);
}

size_t merge_workspace(uint64_t, uint64_t) {
    return kWorkspaceBytes;
}

void do_merge(const pace_device_merge& merge) {
    sparse::Entries a;
    sparse::Entries b;
    a.append(merge.a_indices, merge.a_values, merge.a_count);
    b.append(merge.b_indices, merge.b_values, merge.b_count);
    const sparse::Entries merged = sparse::sum(a, b);
    std::copy(merged.indices.begin(), merged.indices.end(), merge.out_indices);
    std::copy(merged.values.begin(), merged.values.end(), merge.out_values);
    *merge.out_count = merged.size();
}

int merge(const pace_device_merge* call, void* stream) {
    if (call->workspace_bytes < kWorkspaceBytes) return kWrongCall;
    return queue(*call, do_merge, stream);
}

// Adds as server::HybridVector does: the rate is rounded first, and each product is rounded before
// it is added.
void do_scatter_add(const pace_device_scatter_add& add) {
    const auto rate = static_cast<float>(add.rate);
    for (uint64_t i = 0; i < add.count; ++i) {
        const uint64_t index = add.indices == nullptr ? i : add.indices[i];
        if (index < add.length) add.out[index] += rate * add.values[i];
    }
}

int scatter_add(const pace_device_scatter_add* call, void* stream) {
    return queue(*call, do_scatter_add, stream);
}

void do_gather(const pace_device_gather& gather) {
    for (uint64_t i = 0; i < gather.count; ++i) {
        const uint64_t index = gather.indices[i];
        gather.values[i] = index < gather.length ? gather.in[index] : 0.0F;
    }
}

int gather(const pace_device_gather* call, void* stream) {
    if (fails(Kernel::gather)) return kFailed;
    return queue(*call, do_gather, stream);
}

void do_scatter(const pace_device_scatter& scatter) {
    const size_t bytes = scatter.element_bytes;
    for (uint64_t i = 0; i < scatter.count; ++i)
        if (scatter.indices[i] < scatter.length)
            std::memcpy(static_cast<std::byte*>(scatter.out) + scatter.indices[i] * bytes,
                        static_cast<const std::byte*>(scatter.values) + i * bytes, bytes);
}

int scatter(const pace_device_scatter* call, void* stream) {
    if (fails(Kernel::scatter)) return kFailed;
    if (call->element_bytes != 2 && call->element_bytes != 4 && call->element_bytes != 8)
        return kWrongCall;
    return queue(*call, do_scatter, stream);
}

int check(int) {
    loaded = true;
    return 0;
}

const char* error_text(int error) {
    const char* text = nullptr;
    const auto& driver = CudaDriver::get();
    if (driver) (void)(*driver)->get_error_string(error, &text);
    return text == nullptr ? "unknown error" : text;
}

constexpr pace_device_plugin_table kTable{PACE_DEVICE_PLUGIN_VERSION,
                                          sizeof(pace_device_plugin_table),
                                          "simulated 1",
                                          "90",
                                          check,
                                          error_text,
                                          sum,
                                          sum_segments,
                                          convert,
                                          top_k_workspace,
                                          top_k,
                                          merge_workspace,
                                          merge,
                                          scatter_add,
                                          gather,
                                          scatter};

}  // namespace

}  // namespace pace::simulated_gpu

extern "C" __attribute__((visibility("default"))) const pace_device_plugin_table*
pace_device_plugin() {
    return &pace::simulated_gpu::kTable;
}
