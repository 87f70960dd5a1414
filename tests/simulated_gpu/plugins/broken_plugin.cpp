// Plug-ins that the daemon must not use. One refuses every device. Macro definitions make others
// that have another version, lack a function, or need a newer driver.
#include "daemon/device/plugin.h"

namespace {

constexpr int kRefused = 7;

#ifdef PACE_BROKEN_OTHER_VERSION
constexpr uint32_t kVersion = PACE_DEVICE_PLUGIN_VERSION + 1;
#else
constexpr uint32_t kVersion = PACE_DEVICE_PLUGIN_VERSION;
#endif

#ifdef PACE_BROKEN_NEWER_CUDA
constexpr const char* kName = "CUDA 99.0";
#else
constexpr const char* kName = "broken";
#endif

template <typename Call>
int refuse(const Call*, void*) {
    return kRefused;
}

int check(int) {
    return kRefused;
}

const char* error_text(int) {
    return "this plug-in refuses every device";
}

size_t workspace(uint64_t, uint64_t) {
    return 0;
}

#ifdef PACE_BROKEN_INCOMPLETE
constexpr decltype(pace_device_plugin_table::sum) kSum = nullptr;
#else
constexpr decltype(pace_device_plugin_table::sum) kSum = refuse;
#endif

constexpr pace_device_plugin_table kTable{kVersion, sizeof(pace_device_plugin_table),
                                          kName,    "90",
                                          check,    error_text,
                                          kSum,     refuse,
                                          refuse,   workspace,
                                          refuse,   workspace,
                                          refuse,   refuse,
                                          refuse,   refuse};

}  // namespace

extern "C" __attribute__((visibility("default"))) const pace_device_plugin_table*
pace_device_plugin() {
    return &kTable;
}
