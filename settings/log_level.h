// The log's level, as the settings of daemons and of controllers name it.
#pragma once

#include <string>

#include "base/log/log.h"
#include "settings/settings.h"

namespace pace::settings {

inline base::LogLevel log_level_of(const Settings& settings) {
    const std::string& level = settings.text("log_level");
    if (level == "error") return base::LogLevel::error;
    if (level == "warning") return base::LogLevel::warning;
    if (level == "debug") return base::LogLevel::debug;
    return base::LogLevel::info;
}

}  // namespace pace::settings
