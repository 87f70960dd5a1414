#include "service/pacectl/recordings/recording_clock.h"

namespace pace::pacectl {

namespace {

int64_t integer(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    return value.is_number_integer() ? value.get<int64_t>() : 0;
}

}  // namespace

RecordingClock clock_of_recording(const Json& about) {
    const Json& said = member(about, "clock");
    RecordingClock clock;
    clock.now_ns = count(said, "now_ns");
    clock.to_unix_us = integer(said, "unix_ns") / 1000 - integer(said, "now_ns") / 1000;
    if (member(said, "controller_offset_ns").is_number_integer())
        clock.to_controller_us = integer(said, "controller_offset_ns") / 1000;
    return clock;
}

}  // namespace pace::pacectl
