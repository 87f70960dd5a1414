// Local time: times of day for people and for programs.
#pragma once

#include <cstdint>
#include <string>

namespace pace::pacectl {

uint64_t unix_ms_now();
// "2026-11-25 22:31:07", in the caller's time zone.
std::string local_time_text(uint64_t unix_ms);

}  // namespace pace::pacectl
