// Test plug-in: opens the plug-in built beside the tests as the daemon opens it.
#pragma once

#include <dlfcn.h>

#include "daemon/device/plugin.h"

namespace pace::kernels::cuda {

// Returns null if the plug-in cannot be opened or has no table. dlerror() then gives the reason.
// The plug-in stays open until the process ends.
inline const pace_device_plugin_table* open_plugin() {
    void* library = dlopen(PACE_CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);  // CMake gives the path
    if (library == nullptr) return nullptr;
    const auto entry =
        reinterpret_cast<pace_device_plugin_entry>(dlsym(library, "pace_device_plugin"));
    return entry == nullptr ? nullptr : entry();
}

inline const pace_device_plugin_table* plugin() {
    static const pace_device_plugin_table* const table = open_plugin();
    return table;
}

}  // namespace pace::kernels::cuda
