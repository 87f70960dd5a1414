// A kernel that writes where there is no memory, and what becomes of others.
#include <dlfcn.h>

#include "tests/gpu/probe/facts.h"
#include "tests/gpu/probe/gpu.h"

namespace pace::gpu_probe {

using base::ErrorKind;
using base::make_error;
using base::Result;
using namespace base::cuda;  // the driver's own names

namespace {

// The driver compiles it. Pace itself calls none of these functions.
constexpr const char* kKernel = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry fault()
{
    .reg .b64 %to;
    .reg .b32 %value;
    mov.b64 %to, 16;
    mov.b32 %value, 1;
    st.global.b32 [%to], %value;
    ret;
}
)";

// The types of cuModuleLoadData, cuModuleGetFunction and cuLaunchKernel.
using LoadModule = CUresult (*)(void**, const void*);
using GetFunction = CUresult (*)(void**, void*, const char*);
using LaunchKernel = CUresult (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, CUstream, void**, void**);

Result<void*> function_of(void* library, const char* name) {
    void* const found = dlsym(library, name);
    if (found != nullptr) return found;
    return make_error(ErrorKind::not_found, "not tried, the driver has no {}", name);
}

// Returns what the context says afterwards.
Result<CUresult> fail(const Gpu& gpu, CUstream stream) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return make_error(ErrorKind::not_found, "{}", dlerror());
    PACE_TRY_ASSIGN(load, function_of(library, "cuModuleLoadData"));
    PACE_TRY_ASSIGN(find, function_of(library, "cuModuleGetFunction"));
    PACE_TRY_ASSIGN(launch, function_of(library, "cuLaunchKernel"));
    void* module = nullptr;
    void* kernel = nullptr;
    PACE_TRY(gpu.check(reinterpret_cast<LoadModule>(load)(&module, kKernel), "load a kernel"));
    PACE_TRY(
        gpu.check(reinterpret_cast<GetFunction>(find)(&kernel, module, "fault"), "find a kernel"));
    PACE_TRY(gpu.check(reinterpret_cast<LaunchKernel>(launch)(kernel, 1, 1, 1, 1, 1, 1, 0, stream,
                                                              nullptr, nullptr),
                       "launch a kernel"));
    return gpu.driver().stream_synchronize(stream);
}

Result<> work(const Gpu& gpu) {
    PACE_TRY_ASSIGN(stream, gpu.stream());
    CUdeviceptr memory = 0;
    PACE_TRY(gpu.check(gpu.driver().mem_alloc(&memory, 1), "make memory"));
    PACE_TRY(gpu.check(gpu.driver().set_bytes(memory, 1, 1, stream), "set memory"));
    PACE_TRY(gpu.check(gpu.driver().stream_synchronize(stream), "wait for a stream"));
    (void)gpu.driver().mem_free(memory);
    return {};
}

std::string text_of(const Result<>& result) {
    return result ? "works" : "fails: " + result.error().message;
}

Result<> work_when_told(Line& line, bool opens_before) {
    std::optional<Result<Gpu>> gpu;
    if (opens_before) gpu.emplace(Gpu::open());
    PACE_TRY(line.send_text(""));
    PACE_TRY(line.receive<char>());
    if (!gpu) gpu.emplace(Gpu::open());
    const Result<> worked = *gpu ? work(**gpu) : Result<>(gpu->error());
    return line.send_text(text_of(worked));
}

Result<std::string> ask(Partner& partner) {
    PACE_TRY(partner.line().send('.'));
    return partner.line().receive_text();
}

}  // namespace

Told containment() {
    Partner beside(Where::here, [](Line& line) { return work_when_told(line, true); });
    Partner later(Where::here, [](Line& line) { return work_when_told(line, false); });
    PACE_TRY(beside.line().receive_text());
    PACE_TRY(later.line().receive_text());
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY_ASSIGN(failed, fail(gpu, stream));
    const Result<> own = work(gpu);
    PACE_TRY_ASSIGN(others, ask(beside));
    PACE_TRY_ASSIGN(next, ask(later));
    return fmt::format("the kernel ends with {}; the process {}; one beside it {}; a new one {}",
                       failed, text_of(own), others, next);
}

}  // namespace pace::gpu_probe
