// The structured log. An entry has a level, an event in words, and key=value pairs.
//
// If standard error is the journal, each entry goes to the journal with fields of its own. MESSAGE
// has the whole line. JOB, RANK, NODE, PEER and EXCHANGE say what the entry is about. MESSAGE_ID
// says which event of log_events.h it is. PACE_KEY has every other pair. If standard error is not
// the journal, each entry is one line on standard error, with the time. Libraries return errors and
// do not log. Programs log an error once, where its cause is first known.
//
// No function here waits. An entry that the journal, a pipe or a terminal does not take at once is
// dropped and counted. The count is logged as soon as an entry is taken again.
//
//   log_event(events::kPeerGone, {{"peer", name}, {"reason", error.message}});
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
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

// An event that an operator may have to act on. All events are in log_events.h.
struct LogEvent {
    std::string_view name;  // the event's name in documents
    std::string_view text;  // the begin of the event's message
    std::string_view id;    // MESSAGE_ID: 32 hexadecimal digits, which never change
    LogLevel level = LogLevel::info;
    std::string_view meaning;
    std::string_view advice;  // what to do; empty means nothing
};

// Lines above this level are left out. Thread-safe.
void set_log_level(LogLevel level);
LogLevel log_level();

using LogPlace = std::source_location;

// Thread-safe. Never waits. Control characters are escaped. A field without a key is left out.
void log_line(LogLevel level, std::string_view text, LogFields fields,
              LogPlace place = LogPlace::current());
// Logs an event with its MESSAGE_ID. The last pair says what to do.
void log_event(const LogEvent& event, LogFields fields = {}, LogPlace place = LogPlace::current());

inline void log_error(std::string_view text, LogFields fields = {},
                      LogPlace place = LogPlace::current()) {
    log_line(LogLevel::error, text, fields, place);
}
inline void log_warning(std::string_view text, LogFields fields = {},
                        LogPlace place = LogPlace::current()) {
    log_line(LogLevel::warning, text, fields, place);
}
inline void log_info(std::string_view text, LogFields fields = {},
                     LogPlace place = LogPlace::current()) {
    log_line(LogLevel::info, text, fields, place);
}
inline void log_debug(std::string_view text, LogFields fields = {},
                      LogPlace place = LogPlace::current()) {
    log_line(LogLevel::debug, text, fields, place);
}

// Sets this node's name. The journal's entries have the name unless an entry names another NODE.
// Call this before anything is logged.
void set_log_node(std::string_view name);

// Returns how many entries were lost since the program began.
uint64_t log_entries_lost();

// Returns whether standard error is the journal.
bool log_is_journal();

// For tests: replaces the path of the journal's socket.
void set_journal_socket(std::string_view path);

}  // namespace pace::base
