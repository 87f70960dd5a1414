// MemoryRoom: what memory there is for buffers. Shared memory is given out page by page, and where none is left the kernel does
// not refuse but kills, anybody. So the daemon looks first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>

#include "base/result.h"

namespace pace::daemon {

// The number after `name` in the lines of /proc/meminfo ("Name: 12 kB") or of a memory.stat ("name 12"), in bytes; `fallback`
// if it is not there.
inline uint64_t bytes_after(const std::string& text, const std::string& name, uint64_t fallback) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        uint64_t number = 0;
        std::string unit;
        if (!(words >> word >> number) || word != name) continue;
        return (words >> unit) && unit == "kB" ? number * 1024 : number;
    }
    return fallback;
}

inline std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline constexpr uint64_t kUnknownRoom = std::numeric_limits<uint64_t>::max();

// What the control groups (version 2) of this process leave it, the tightest of them.
inline uint64_t control_group_room() {
    uint64_t room = kUnknownRoom;
    std::istringstream groups(text_of("/proc/self/cgroup"));
    for (std::string line; std::getline(groups, line);) {
        if (!line.starts_with("0::/")) continue;
        for (std::string path = line.substr(3); !path.empty();
             path.resize(path == "/" ? 0 : std::max<size_t>(path.rfind('/'), 1))) {
            const std::string folder = "/sys/fs/cgroup" + path + "/";
            uint64_t limit = 0;
            uint64_t used = 0;
            if (!(std::istringstream(text_of(folder + "memory.max")) >> limit) ||
                !(std::istringstream(text_of(folder + "memory.current")) >> used))
                continue;
            // Clean pages of files are given back when they are wanted.
            used -=
                std::min(used, bytes_after(text_of(folder + "memory.stat"), "inactive_file", 0));
            room = std::min(room, limit - std::min(limit, used));
        }
    }
    return room;
}

// What can be taken without pushing anybody out.
inline uint64_t memory_room() {
    const uint64_t machine = bytes_after(text_of("/proc/meminfo"), "MemAvailable:", kUnknownRoom);
    return std::min(machine, control_group_room());
}

// Refuses what would leave nearly nothing of `room` for everybody else.
inline base::Result<> check_memory_room(uint64_t bytes, uint64_t room) {
    constexpr uint64_t kLeftMax = uint64_t{256} << 20U;
    const uint64_t left = std::min(room / 16, kLeftMax);
    if (bytes <= room - left) return {};
    return base::make_error(base::ErrorKind::memory,
                            "a buffer of {} bytes does not fit into the {} bytes of memory that "
                            "are free on this node; free memory or ask for less",
                            bytes, room - left);
}

}  // namespace pace::daemon
