// Plug-in loader: opens the plug-in with the kernels, and refuses an unsuitable one.
#pragma once

#include <string>

#include "base/result.h"
#include "daemon/device/plugin.h"

namespace pace::device {

// Returns the plug-in's table; the library stays open. Errors: not_found, if there is no such file;
// version, if the plug-in belongs to another Pace; corrupt, if the file is no plug-in. The message
// names the file.
base::Result<const pace_device_plugin_table*> open_plugin(const std::string& file);

// Default folder of the plug-ins: "../lib/pace/plugins" or a similar path relative to this program.
std::string plugin_folder();

inline constexpr const char* kPluginFile = "pace-device-cuda.so";

}  // namespace pace::device
