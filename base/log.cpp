#include "base/log.h"

#include <sys/stat.h>
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
        case LogLevel::none:
            break;
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

// systemd says of which file: whoever was started by a service inherits the words, but may have another standard error.
bool under_journald() {
    static const bool answer = [] {
        const char* stream = std::getenv("JOURNAL_STREAM");
        struct stat own {};
        return stream != nullptr && fstat(STDERR_FILENO, &own) == 0 &&
               fmt::format("{}:{}", own.st_dev, own.st_ino) == stream;
    }();
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

// How many bytes at `at` are a control character: of ASCII, or of those beyond it (U+0080 to U+009F) that terminals obey.
size_t control_bytes(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(at) < 0x20 || byte(at) == 0x7F) return 1;
    const bool beyond =
        byte(at) == 0xC2 && at + 1 < text.size() && byte(at + 1) >= 0x80 && byte(at + 1) < 0xA0;
    return beyond ? 2 : 0;
}

// Control characters as \x1b, so that no text from outside begins a line or speaks to a terminal.
void append_text(std::string& line, std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const size_t end = i + control_bytes(text, i);
        if (end == i) line += text[i++];
        for (; i < end; ++i)
            fmt::format_to(std::back_inserter(line), "\\x{:02x}",
                           static_cast<unsigned char>(text[i]));
    }
}

// Values with spaces, quotes or control characters are quoted, so that a hostile value cannot forge
// a second field.
void append_value(std::string& line, std::string_view value) {
    bool plain = !value.empty() && value.find_first_of(" \"=\\") == std::string_view::npos;
    for (size_t i = 0; i < value.size() && plain; ++i) plain = control_bytes(value, i) == 0;
    if (plain) {
        line += value;
        return;
    }
    line += '"';
    std::string quoted;
    for (const char c : value) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    append_text(line, quoted);
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
    append_text(line, event);
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
