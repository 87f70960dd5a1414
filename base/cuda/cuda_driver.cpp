#include "base/cuda/cuda_driver.h"

#include <dlfcn.h>

namespace pace::base::cuda {

namespace {

constexpr const char* kLibrary = "libcuda.so.1";

Result<CudaDriver> load() {
    void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return make_error(ErrorKind::unavailable, "no NVIDIA driver can be loaded: {}", dlerror());
    CudaDriver driver;
    const char* missing = nullptr;
    const auto find = [&](const char* symbol) {
        void* const address = dlsym(library, symbol);
        if (address == nullptr && missing == nullptr) missing = symbol;
        return address;
    };
#define PACE_CUDA_FIND(name, symbol, parameters) \
    driver.name = reinterpret_cast<CUresult(*) parameters>(find(symbol));
    PACE_CUDA_FUNCTIONS(PACE_CUDA_FIND)
    if (missing != nullptr)
        return make_error(ErrorKind::unavailable,
                          "the NVIDIA driver is too old: {} has no {}; CUDA 11.4's has all that is "
                          "needed",
                          kLibrary, missing);
    PACE_CUDA_OPTIONAL_FUNCTIONS(PACE_CUDA_FIND)
#undef PACE_CUDA_FIND
    const CUresult started = driver.init(0);
    if (started != kSuccess && started != kNoDevice)
        return driver.error(started, "the NVIDIA driver does not start");
    if (const CUresult known = driver.driver_get_version(&driver.version); known != kSuccess)
        return driver.error(known, "ask the NVIDIA driver's version");
    return driver;
}

}  // namespace

const Result<const CudaDriver*>& CudaDriver::get() {
    // Never destroyed, because threads that use the driver may outlive the end of main.
    static const auto& loaded = *new Result<CudaDriver>(load());
    static const auto& answer = *new Result<const CudaDriver*>(
        loaded ? Result<const CudaDriver*>(&*loaded) : Result<const CudaDriver*>(loaded.error()));
    return answer;
}

Error CudaDriver::error(CUresult result, std::string_view what) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (get_error_name(result, &name) != kSuccess || name == nullptr) name = "unknown error";
    if (get_error_string(result, &text) != kSuccess || text == nullptr) text = "no description";
    const ErrorKind kind = result == kOutOfMemory ? ErrorKind::memory : ErrorKind::unavailable;
    return make_error(kind, "{}: {} ({}), {}", what, name, result, text);
}

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string text_of(const CUuuid& uuid) {
    std::string text = "GPU";
    for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

}  // namespace pace::base::cuda
