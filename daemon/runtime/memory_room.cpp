#include "daemon/runtime/memory_room.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace pace::daemon {

namespace {

std::string contents_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Calls `visit` with the folder and the limit of each control group (version 2) of this process
// that has a limit.
template <typename Visit>
void each_limit(Visit&& visit) {
    std::istringstream groups(contents_of("/proc/self/cgroup"));
    for (std::string line; std::getline(groups, line);) {
        if (!line.starts_with("0::/")) continue;
        for (std::string path = line.substr(3); !path.empty();
             path.resize(path == "/" ? 0 : std::max<size_t>(path.rfind('/'), 1))) {
            const std::string folder = "/sys/fs/cgroup" + path + "/";
            uint64_t limit = 0;
            if (std::istringstream(contents_of(folder + "memory.max")) >> limit)
                visit(folder, limit);
        }
    }
}

// The bytes that the tightest of the control groups leaves this process.
uint64_t control_group_room() {
    uint64_t room = kUnknownRoom;
    each_limit([&room](const std::string& folder, uint64_t limit) {
        uint64_t used = 0;
        if (!(std::istringstream(contents_of(folder + "memory.current")) >> used)) return;
        // The kernel gives back clean pages of files when they are wanted.
        used -=
            std::min(used, bytes_after(contents_of(folder + "memory.stat"), "inactive_file", 0));
        room = std::min(room, limit - std::min(limit, used));
    });
    return room;
}

}  // namespace

uint64_t bytes_after(const std::string& text, const std::string& name, uint64_t fallback) {
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

uint64_t memory_room() {
    const uint64_t machine =
        bytes_after(contents_of("/proc/meminfo"), "MemAvailable:", kUnknownRoom);
    return std::min(machine, control_group_room());
}

uint64_t memory_total() {
    uint64_t total = bytes_after(contents_of("/proc/meminfo"), "MemTotal:", kUnknownRoom);
    each_limit([&total](const std::string&, uint64_t limit) { total = std::min(total, limit); });
    return total;
}

HostMemory host_memory() {
    const std::string facts = contents_of("/proc/meminfo");
    return {bytes_after(facts, "MemTotal:", 0), bytes_after(facts, "MemAvailable:", 0)};
}

base::Result<> check_memory_room(std::string_view what, uint64_t bytes, uint64_t room) {
    constexpr uint64_t kLeftMax = uint64_t{256} << 20U;
    const uint64_t left = std::min(room / 16, kLeftMax);
    if (bytes <= room - left) return {};
    return base::make_error(base::ErrorKind::memory,
                            "{} of {} bytes does not fit into the {} bytes of memory that "
                            "are free on this node; free memory or ask for less",
                            what, bytes, room - left);
}

}  // namespace pace::daemon
