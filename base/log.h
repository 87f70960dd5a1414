// Structured log lines: a level, an event in words, and key=value pairs, one line each on stderr.
//
// Where standard error is the journal, each line carries the journal's priority prefix ("<4>"), so that journald files it
// under the right level; on a terminal it carries the time instead. Libraries return errors and do
// not log; programs log once, where the cause is first known.
//
//   log_warning("peer lost", {{"node", name}, {"reason", error.message}});
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace pace::base {

enum class LogLevel { none = 2, error = 3, warning = 4, info = 6, debug = 7 };

struct LogField {
    LogField(std::string_view field_key, std::string_view text) : key(field_key), value(text) {}
    LogField(std::string_view field_key, const char* text) : key(field_key), value(text) {}
    LogField(std::string_view field_key, const std::string& text) : key(field_key), value(text) {}
    template <typename T>
        requires std::integral<T> || std::floating_point<T>
    LogField(std::string_view field_key, T number)
        : key(field_key), value(fmt::format("{}", number)) {}

    std::string_view key;
    std::string value;
};

using LogFields = std::initializer_list<LogField>;

// Lines above this level are dropped. Thread-safe.
void set_log_level(LogLevel level);
LogLevel log_level();

// Thread-safe; one write(2) per line. Control characters are escaped.
void log_line(LogLevel level, std::string_view event, LogFields fields);

inline void log_error(std::string_view event, LogFields fields = {}) {
    log_line(LogLevel::error, event, fields);
}
inline void log_warning(std::string_view event, LogFields fields = {}) {
    log_line(LogLevel::warning, event, fields);
}
inline void log_info(std::string_view event, LogFields fields = {}) {
    log_line(LogLevel::info, event, fields);
}
inline void log_debug(std::string_view event, LogFields fields = {}) {
    log_line(LogLevel::debug, event, fields);
}

}  // namespace pace::base
