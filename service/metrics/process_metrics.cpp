#include "service/metrics/process_metrics.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

namespace pace::metrics {

namespace {

constexpr Family kProcessProcessor{"process_cpu_seconds", Type::counter, "seconds",
                                   "Processor time of this process."};
constexpr Family kProcessMemory{"process_resident_memory_bytes", Type::gauge, "bytes",
                                "Memory of this process, shared memory included."};
constexpr Family kProcessDescriptors{"process_open_fds", Type::gauge, "", "Open descriptors."};
constexpr Family kProcessDescriptorsMax{"process_max_fds", Type::gauge, "",
                                        "Descriptors that may be open."};
constexpr Family kProcessStart{"process_start_time_seconds", Type::gauge, "seconds",
                               "When this process started, since 1970."};
constexpr Family kProcessLongest{"pace_controller_loop_longest_seconds", Type::gauge, "seconds",
                                 "The longest that one callback has held up the event loop."};
constexpr Family kProcessLong{"pace_controller_loop_long_callbacks", Type::counter, "",
                              "Callbacks that held up the event loop for 50 ms or more."};
constexpr Family kProcessRequests{"pace_http_requests", Type::counter, "",
                                  "Requests to this process, by what became of them."};
constexpr Family kProcessConnections{"pace_http_connections", Type::gauge, "", "Open connections."};

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Returns field 22 of /proc/self/stat, in ticks since the machine started. The name before this
// field may contain spaces.
std::optional<double> started_at() {
    std::ifstream file("/proc/self/stat");
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    size_t at = line.rfind(')');
    for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
    if (at == std::string::npos) return std::nullopt;
    const double since_boot =
        std::strtod(line.c_str() + at, nullptr) / static_cast<double>(sysconf(_SC_CLK_TCK));
    timespec up{};
    timespec today{};
    if (clock_gettime(CLOCK_BOOTTIME, &up) != 0 || clock_gettime(CLOCK_REALTIME, &today) != 0)
        return std::nullopt;
    const auto seconds = [](const timespec& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
    };
    return seconds(today) - seconds(up) + since_boot;
}

std::optional<double> resident_bytes() {
    std::ifstream file("/proc/self/statm");
    double all = 0;
    double resident = 0;
    if (!(file >> all >> resident)) return std::nullopt;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::optional<double> open_descriptors() {
    std::error_code failed;
    const std::filesystem::directory_iterator descriptors("/proc/self/fd", failed);
    if (failed) return std::nullopt;
    return static_cast<double>(std::distance(begin(descriptors), end(descriptors)));
}

}  // namespace

void add_process(Exposition& metrics) {
    rusage used{};
    if (getrusage(RUSAGE_SELF, &used) == 0)
        metrics.add(kProcessProcessor, {}, seconds_of(used.ru_utime) + seconds_of(used.ru_stime));
    if (const auto bytes = resident_bytes()) metrics.add(kProcessMemory, {}, *bytes);
    if (const auto open = open_descriptors()) metrics.add(kProcessDescriptors, {}, *open);
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        metrics.add(kProcessDescriptorsMax, {}, static_cast<double>(limit.rlim_cur));
    if (const auto start = started_at()) metrics.add(kProcessStart, {}, *start);
}

void add_controller_loop(Exposition& metrics, const base::LoopWatch& watch) {
    metrics.add(kProcessLongest, {}, base::to_seconds(watch.longest().took));
    metrics.add(kProcessLong, {}, static_cast<double>(watch.long_steps()));
}

void add_http(Exposition& metrics, const http::Server::Counters& counters) {
    const auto add = [&metrics](std::string_view outcome, uint64_t count) {
        metrics.add(kProcessRequests, {{"outcome", outcome}}, static_cast<double>(count));
    };
    add("answered", counters.requests);
    add("refused", counters.refused);
    add("cut_off", counters.cut_off);
    metrics.add(kProcessConnections, {}, static_cast<double>(counters.connections));
}

}  // namespace pace::metrics
