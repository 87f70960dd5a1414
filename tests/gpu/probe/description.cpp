#include <array>
#include <cstdlib>

#include "tests/gpu/probe/facts.h"
#include "tests/gpu/probe/gpu.h"

namespace pace::gpu_probe {

using base::Result;
using namespace base::cuda;  // the driver's own names

namespace {

struct Attribute {
    const char* name;
    int number;
};

// With the numbers of CUdevice_attribute.
constexpr std::array kAttributes{
    Attribute{"compute capability, major", kAttributeMajor},
    Attribute{"compute capability, minor", kAttributeMinor},
    Attribute{"multiprocessors", 16},
    Attribute{"copy engines", 40},
    Attribute{"compute mode", kAttributeComputeMode},
    Attribute{"MPS", kAttributeMps},
    Attribute{"virtual memory", kAttributeVirtualMemory},
    Attribute{"memory by descriptors", kAttributeMemoryFd},
    Attribute{"events between processes", kAttributeIpcEvents},
    Attribute{"words for streams", kAttributeStreamWords},
    Attribute{"registered memory at the host's addresses", 91},
    Attribute{"preempts compute", 90},
};

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "not set" : value;
}

Result<> describe_device(const CudaDriver& driver, int ordinal, Lines& ret_lines) {
    CUdevice device = 0;
    PACE_TRY(driver.check(driver.device_get(&device, ordinal), "look at a GPU"));
    std::array<char, 128> name{};
    PACE_TRY(driver.check(driver.device_get_name(name.data(), name.size() - 1, device),
                          "ask a GPU's name"));
    CUuuid uuid{};
    PACE_TRY(driver.check(driver.device_get_uuid(&uuid, device), "ask a GPU's number"));
    size_t bytes = 0;
    PACE_TRY(driver.check(driver.device_total_mem(&bytes, device), "ask a GPU's memory"));
    const std::string gpu = fmt::format("GPU {}", ordinal);
    ret_lines.emplace_back(
        gpu, fmt::format("{}, {}, {:.1f} GiB", name.data(), text_of(uuid),
                         static_cast<double>(bytes) / static_cast<double>(1U << 30U)));
    for (const Attribute& attribute : kAttributes) {
        int value = 0;
        const bool is_known =
            driver.device_get_attribute(&value, attribute.number, device) == kSuccess;
        ret_lines.emplace_back(gpu + ", " + attribute.name,
                               is_known ? std::to_string(value) : "unknown to this driver");
    }
    return {};
}

}  // namespace

Result<Lines> describe() {
    const auto& loaded = CudaDriver::get();
    if (!loaded) return loaded.error();
    const CudaDriver& driver = **loaded;
    Lines lines;
    lines.emplace_back("driver", "CUDA " + version_text(driver.version));
    lines.emplace_back("functions for words of streams",
                       driver.stream_write_value != nullptr && driver.stream_wait_value != nullptr
                           ? "there"
                           : "missing");
    for (const char* const name : {"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING",
                                   "CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY"})
        lines.emplace_back(name, environment(name));
    int count = 0;
    (void)driver.device_get_count(&count);  // after an error, as without a GPU, the count stays 0
    lines.emplace_back("GPUs", std::to_string(count));
    for (int ordinal = 0; ordinal < count; ++ordinal)
        PACE_TRY(describe_device(driver, ordinal, lines));
    return lines;
}

}  // namespace pace::gpu_probe
