// Opens the plug-in with the kernels, and refuses one that does not fit.
#pragma once

#include <string>

#include "base/result.h"
#include "daemon/device/plugin.h"

namespace pace::device {

// The plug-in's table; the library stays open. Fails with `not_found` if the file is not there, `version` if it is another
// Pace's, `corrupt` if it is no plug-in; the message names the file.
base::Result<const pace_device_plugin_table*> open_plugin(const std::string& file);

// The folder in which plug-ins are looked for if none is named: where this program was installed, "../lib/pace/plugins" and its
// like beside it.
std::string plugin_folder();

inline constexpr const char* kPluginFile = "pace-device-cuda.so";

}  // namespace pace::device
