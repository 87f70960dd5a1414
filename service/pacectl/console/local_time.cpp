#include "service/pacectl/console/local_time.h"

#include <array>
#include <chrono>
#include <ctime>

namespace pace::pacectl {

uint64_t unix_ms_now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::floor<std::chrono::milliseconds>(since).count());
}

std::string local_time_text(uint64_t unix_ms) {
    const auto seconds = static_cast<time_t>(unix_ms / 1000);
    tm parts{};
    std::array<char, 32> written{};
    if (localtime_r(&seconds, &parts) == nullptr) return "-";
    return {written.data(), strftime(written.data(), written.size(), "%Y-%m-%d %H:%M:%S", &parts)};
}

}  // namespace pace::pacectl
