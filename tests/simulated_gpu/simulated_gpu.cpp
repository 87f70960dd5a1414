#include "tests/simulated_gpu/simulated_gpu.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace pace::simulated_gpu {

// dlopen("libcuda.so.1") finds a library of that SONAME which is there already, wherever it is from.
void use_simulated_gpu() {
    if (dlopen(PACE_SIMULATED_GPU_LIBRARY, RTLD_NOW | RTLD_LOCAL) != nullptr) return;
    std::fprintf(stderr, "no simulated GPU: %s\n", dlerror());
    std::abort();
}

std::string environment_entry() {
    const char* const before = std::getenv("LD_LIBRARY_PATH");
    std::string entry = "LD_LIBRARY_PATH=" PACE_SIMULATED_GPU_FOLDER;
    if (before != nullptr && *before != '\0') entry += std::string(":") + before;
    return entry;
}

void set_environment() {
    const std::string entry = environment_entry();
    const size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
}

}  // namespace pace::simulated_gpu
