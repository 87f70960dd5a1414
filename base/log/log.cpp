#include "base/log/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "base/log/daemon_events.h"
#include "base/log/journal_entry.h"
#include "base/log/write_now.h"

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

// Systemd names the journal's file in JOURNAL_STREAM. The check compares that file with standard
// error: a process that a service started inherits the variable, but may have another standard
// error.
bool under_journald() {
    static const bool answer = [] {
        const char* stream = std::getenv("JOURNAL_STREAM");
        struct stat own {};
        return stream != nullptr && fstat(STDERR_FILENO, &own) == 0 &&
               fmt::format("{}:{}", own.st_dev, own.st_ino) == stream;
    }();
    return answer;
}

std::string time_prefix(LogLevel level) {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    tm parts{};
    gmtime_r(&time.tv_sec, &parts);
    return fmt::format("{:02}:{:02}:{:02}.{:03} {:<7} ", parts.tm_hour, parts.tm_min, parts.tm_sec,
                       time.tv_nsec / 1'000'000, level_name(level));
}

// Returns how many bytes at `at` form a control character: an ASCII one, or one of U+0080 to
// U+009F, which terminals obey, too. 0 means that no control character is there.
size_t control_bytes(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(at) < 0x20 || byte(at) == 0x7F) return 1;
    const bool beyond =
        byte(at) == 0xC2 && at + 1 < text.size() && byte(at + 1) >= 0x80 && byte(at + 1) < 0xA0;
    return beyond ? 2 : 0;
}

// Writes control characters as \x1b, so that no outside text begins a line or controls a terminal.
void append_text(std::string& line, std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const size_t end = i + control_bytes(text, i);
        if (end == i) line += text[i++];
        for (; i < end; ++i)
            fmt::format_to(std::back_inserter(line), "\\x{:02x}",
                           static_cast<unsigned char>(text[i]));
    }
}

// Quotes values with spaces, quotes or control characters, so that a hostile value cannot forge a
// second field.
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

// The contents of one log call.
struct Said {
    LogLevel level = LogLevel::none;
    std::string_view text;
    LogFields fields;
    // Null means that the entry is no event of the table.
    const LogEvent* event = nullptr;
    LogPlace place;
};

std::string line_of(const Said& said) {
    std::string line;
    append_text(line, said.text);
    const auto append_pair = [&line](std::string_view key, std::string_view value) {
        line += ' ';
        line += key;
        line += '=';
        append_value(line, value);
    };
    for (const LogField& field : said.fields)
        if (!field.key.empty()) append_pair(field.key, field.value);
    if (said.event != nullptr && !said.event->advice.empty())
        append_pair("advice", said.event->advice);
    return line;
}

// Returns the path within the source tree. The build removes the folders above the tree
// (cmake/PaceOptions.cmake). A compiler cache writes "../.." for them.
std::string_view file_of(const LogPlace& place) {
    std::string_view file = place.file_name();
    while (file.starts_with("../")) file.remove_prefix(3);
    return file;
}

JournalEntry entry_of(const Said& said, std::string_view line, const std::string& node) {
    JournalEntry entry;
    entry.add("MESSAGE", line);
    entry.add("PRIORITY", fmt::format("{}", static_cast<int>(said.level)));
    entry.add("SYSLOG_IDENTIFIER", program_invocation_short_name);
    entry.add("CODE_FILE", file_of(said.place));
    entry.add("CODE_LINE", fmt::format("{}", said.place.line()));
    if (said.event != nullptr) entry.add("MESSAGE_ID", said.event->id);
    bool has_node = node.empty();
    for (const LogField& field : said.fields) {
        if (field.key.empty()) continue;
        has_node = has_node || field.key == "node";
        const bool is_number = field.key == "group" || field.key == "round";
        entry.add(journal_field(field.key),
                  is_number ? fmt::format("{} {}", field.key, field.value) : field.value);
    }
    if (!has_node) entry.add("NODE", node);
    return entry;
}

// Writes the entries to their destination and counts the entries that nobody took. The outlet is
// never destroyed: threads may log until the process ends.
class Outlet {
  public:
    void set_journal(std::string_view path) {
        const std::lock_guard lock(mutex_);
        journal_ = std::make_shared<const JournalSocket>(std::string(path));
    }
    void set_node(std::string_view name) {
        const std::lock_guard lock(mutex_);
        node_ = name;
    }
    uint64_t lost() const { return lost_; }

    bool take(const Said& said) {
        const std::string line = line_of(said);
        bool is_taken = false;
        if (!under_journald()) {
            is_taken = write_now(STDERR_FILENO, time_prefix(said.level) + line + "\n");
        } else {
            const auto [journal, node] = where();
            const auto sent = journal->send(entry_of(said, line, node));
            is_taken = sent == JournalSocket::Sent::done;
            // A journal may have no such socket here, for example in a container. It still reads
            // the stream.
            if (sent == JournalSocket::Sent::absent)
                is_taken = write_now(STDERR_FILENO,
                                     fmt::format("<{}>{}\n", static_cast<int>(said.level), line));
        }
        if (!is_taken) ++lost_;
        return is_taken;
    }

    // Returns how many entries were lost since the last call.
    uint64_t newly_lost() {
        const uint64_t all = lost_;
        return all - told_.exchange(all);
    }
    void not_told(uint64_t count) { told_ -= count; }

  private:
    std::pair<std::shared_ptr<const JournalSocket>, std::string> where() {
        const std::lock_guard lock(mutex_);
        if (!journal_) journal_ = std::make_shared<const JournalSocket>();
        return {journal_, node_};
    }

    std::mutex mutex_;
    std::shared_ptr<const JournalSocket> journal_;
    std::string node_;
    std::atomic<uint64_t> lost_{0};
    std::atomic<uint64_t> told_{0};
};

Outlet& outlet() {
    static auto* const only = new Outlet;
    return *only;
}

void say(const Said& said) {
    if (static_cast<int>(said.level) > highest_level.load(std::memory_order_relaxed)) return;
    if (!outlet().take(said)) return;
    const uint64_t lost = outlet().newly_lost();
    if (lost == 0) return;
    const LogFields how_many = {{"entries", lost}};
    const LogEvent& event = events::kLogEntriesLost;
    const Said about{event.level, event.text, how_many, &event, LogPlace::current()};
    if (!outlet().take(about)) outlet().not_told(lost);
}

}  // namespace

void set_log_level(LogLevel level) {
    highest_level = static_cast<int>(level);
}

LogLevel log_level() {
    return static_cast<LogLevel>(highest_level.load());
}

void log_line(LogLevel level, std::string_view text, LogFields fields, LogPlace place) {
    say({level, text, fields, nullptr, place});
}

void log_event(const LogEvent& event, LogFields fields, LogPlace place) {
    say({event.level, event.text, fields, &event, place});
}

uint64_t log_entries_lost() {
    return outlet().lost();
}

void set_log_node(std::string_view name) {
    outlet().set_node(name);
}

bool log_is_journal() {
    return under_journald();
}

void set_journal_socket(std::string_view path) {
    outlet().set_journal(path);
}

}  // namespace pace::base
