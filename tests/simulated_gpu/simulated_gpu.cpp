#include "tests/simulated_gpu/simulated_gpu.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace pace::simulated_gpu {

namespace {

// dlopen("libcuda.so.1") finds a library of that SONAME that is already loaded, wherever it is
// from.
void load(const char* library) {
    if (dlopen(library, RTLD_NOW | RTLD_LOCAL) != nullptr) return;
    std::fprintf(stderr, "no simulated GPU: %s\n", dlerror());
    std::abort();
}

}  // namespace

void use_simulated_gpu() {
    load(PACE_SIMULATED_GPU_LIBRARY);
}

void use_simulated_nccl() {
    load(PACE_SIMULATED_NCCL_LIBRARY);
}

std::string environment_entry(Nccl nccl) {
    const char* const before = std::getenv("LD_LIBRARY_PATH");
    std::string entry = "LD_LIBRARY_PATH=" PACE_SIMULATED_GPU_FOLDER ":" PACE_SIMULATED_GPU_FOLDER;
    entry += nccl == Nccl::present ? "/nccl" : "/without_nccl";
    if (before != nullptr && *before != '\0') entry += std::string(":") + before;
    return entry;
}

void set_environment(Nccl nccl) {
    const std::string entry = environment_entry(nccl);
    const size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
}

}  // namespace pace::simulated_gpu
