#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <iterator>

namespace pace::base {

namespace {

std::atomic<int> highest_level{static_cast<int>(LogLevel::info)};

std::string_view level_name(LogLevel level) {
    switch (level) {
        case LogLevel::error:
            return "error";
        case LogLevel::warning:
            return "warning";
        case LogLevel::info:
            return "info";
        case LogLevel::debug:
            return "debug";
    }
    return "?";
}

bool under_journald() {
    static const bool answer = std::getenv("JOURNAL_STREAM") != nullptr;
    return answer;
}

void append_prefix(std::string& line, LogLevel level) {
    if (under_journald()) {
        fmt::format_to(std::back_inserter(line), "<{}>", static_cast<int>(level));
        return;
    }
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    tm parts{};
    gmtime_r(&time.tv_sec, &parts);
    fmt::format_to(std::back_inserter(line), "{:02}:{:02}:{:02}.{:03} {:<7} ", parts.tm_hour,
                   parts.tm_min, parts.tm_sec, time.tv_nsec / 1'000'000, level_name(level));
}

// Values with spaces, quotes or control characters are quoted, so that a hostile value cannot forge
// a second line or a second field.
void append_value(std::string& line, std::string_view value) {
    const bool plain =
        !value.empty() && value.find_first_of(" \"=\\") == std::string_view::npos &&
        value.find_first_of(std::string_view("\n\r\t\0", 4)) == std::string_view::npos;
    if (plain) {
        line += value;
        return;
    }
    line += '"';
    for (const char c : value) {
        if (c == '"' || c == '\\') line += '\\';
        line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    line += '"';
}

}  // namespace

void set_log_level(LogLevel level) {
    highest_level = static_cast<int>(level);
}

LogLevel log_level() {
    return static_cast<LogLevel>(highest_level.load());
}

void log_line(LogLevel level, std::string_view event, LogFields fields) {
    if (static_cast<int>(level) > highest_level.load(std::memory_order_relaxed)) return;
    std::string line;
    append_prefix(line, level);
    line += event;
    for (const LogField& field : fields) {
        line += ' ';
        line += field.key;
        line += '=';
        append_value(line, field.value);
    }
    line += '\n';
    // A full or closed stderr must not hurt the daemon: the line is lost, nothing else.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace pace::base
