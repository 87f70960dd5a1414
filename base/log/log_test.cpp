#include "base/log/log.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/log/daemon_events.h"
#include "base/log/training_events.h"
#include "base/unique_fd.h"

namespace pace::base {
namespace {

// Returns the text that a child process writes to standard error, which is a pipe. If `stream` is
// not empty, JOURNAL_STREAM is set to `stream`; "own" stands for that pipe. The journal has no
// socket unless `write_lines` names one.
template <typename Function>
std::string logged(const std::string& stream, const Function& write_lines) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        struct stat own {};
        fstat(STDERR_FILENO, &own);
        unsetenv("JOURNAL_STREAM");
        const std::string name =
            stream == "own" ? fmt::format("{}:{}", own.st_dev, own.st_ino) : stream;
        if (!name.empty()) setenv("JOURNAL_STREAM", name.c_str(), 1);
        set_journal_socket("/nonexistent/journal");
        write_lines();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 512> bytes{};
    for (ssize_t got = 0; (got = read(ends[0], bytes.data(), bytes.size())) > 0;)
        text.append(bytes.data(), static_cast<size_t>(got));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return text;
}

void warn() {
    log_warning("something", {{"key", "value"}});
}

TEST(Log, LinesHaveAPriorityWhereStandardErrorIsTheJournal) {
    EXPECT_EQ(logged("own", warn), "<4>something key=value\n");
}

TEST(Log, LinesHaveATimeWhereStandardErrorIsNotTheJournalThoughTheEnvironmentNamesOne) {
    for (const char* stream : {"", "8:123456", "nonsense"}) {
        const std::string text = logged(stream, warn);
        EXPECT_EQ(text.find('<'), std::string::npos) << text;
        EXPECT_NE(text.find(" warning something key=value\n"), std::string::npos) << text;
    }
}

TEST(Log, ControlCharactersAreEscapedWhereverTheyAre) {
    EXPECT_EQ(
        logged("own",
               [] {
                   log_info("said \x1b[2J", {{"esc", "\x1b]0;title\a"},
                                             {"lines", "a\nb\r\tc"},
                                             {"nul", std::string_view("a\0b", 3)},
                                             {"del", "a\x7f"},
                                             {"beyond",
                                              "a\xc2\x9b"
                                              "31m\xc3\xa9"},
                                             {"quotes", "say \"it\" \\"}});
               }),
        "<6>said \\x1b[2J esc=\"\\x1b]0;title\\x07\" lines=\"a\\x0ab\\x0d\\x09c\" nul=\"a\\x00b\" "
        "del=\"a\\x7f\" beyond=\"a\\xc2\\x9b"
        "31m\xc3\xa9\" quotes=\"say \\\"it\\\" \\\\\"\n");
}

TEST(Log, NothingIsWrittenAtLevelNone) {
    EXPECT_EQ(logged("own",
                     [] {
                         set_log_level(LogLevel::none);
                         log_error("broken");
                     }),
              "");
}

// A socket like the journal's, in a folder of its own.
class FakeJournal {
  public:
    FakeJournal() {
        std::string pattern = std::filesystem::temp_directory_path() / "pace-log-XXXXXX";
        folder_ = mkdtemp(pattern.data());
        path_ = folder_ + "/socket";
        fd_.reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path_.c_str(), path_.size());
        EXPECT_EQ(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }
    ~FakeJournal() { std::filesystem::remove_all(folder_); }

    // Returns all entries that have arrived.
    std::vector<std::string> take() const {
        std::vector<std::string> entries;
        std::array<char, 65536> bytes{};
        for (ssize_t got = 0; (got = recv(fd_.get(), bytes.data(), bytes.size(), 0)) >= 0;)
            entries.emplace_back(bytes.data(), static_cast<size_t>(got));
        return entries;
    }
    const std::string& path() const { return path_; }

  private:
    std::string folder_;
    std::string path_;
    UniqueFd fd_;
};

bool has_line(const std::string& entry, const std::string& line) {
    return ("\n" + entry).find("\n" + line + "\n") != std::string::npos;
}

TEST(Log, TheJournalGetsFieldsOfItsOwn) {
    const FakeJournal journal;
    const std::string text = logged("own", [&] {
        set_journal_socket(journal.path());
        set_log_node("n1");
        log_event(events::kWorkerSuspended, {{"job", "fashion"}, {"rank", 3}, {"reason", "late"}});
        log_event(events::kGroupFailed, {{"group", 7}, {"node", "n2"}, {"", "left out"}});
        log_warning("something", {{"peer", "b\nJOB=evil"}});
    });
    EXPECT_EQ(text, "") << "nothing is said twice";
    const auto entries = journal.take();
    ASSERT_EQ(entries.size(), 3U);
    for (const char* line : {"PRIORITY=4", "JOB=fashion", "RANK=3", "NODE=n1", "PACE_REASON=late",
                             "CODE_FILE=base/log/log_test.cpp"})
        EXPECT_TRUE(has_line(entries[0], line)) << line << " in\n" << entries[0];
    EXPECT_TRUE(has_line(entries[0], "MESSAGE_ID=" + std::string(events::kWorkerSuspended.id)));
    EXPECT_TRUE(
        entries[0].starts_with("MESSAGE=worker suspended job=fashion rank=3 reason=late "
                               "advice=\""))
        << entries[0];
    EXPECT_TRUE(has_line(entries[1], "EXCHANGE=group 7"));
    EXPECT_TRUE(has_line(entries[1], "NODE=n2"));
    EXPECT_EQ(entries[1].find("NODE=n1"), std::string::npos);
    EXPECT_EQ(entries[1].find("left out"), std::string::npos);
    EXPECT_EQ(entries[2].find("MESSAGE_ID"), std::string::npos);
    const std::string length("\x0a\0\0\0\0\0\0\0", 8);
    EXPECT_NE(entries[2].find("\nPEER\n" + length + "b\nJOB=evil\n"), std::string::npos);
}

// Entries that the journal does not take are lost, and their number is logged.
void overflow(const FakeJournal& journal) {
    set_journal_socket(journal.path());
    const TimePoint began = now();
    for (int i = 0; i < 10'000; ++i) log_warning("something", {{"number", i}});
    const bool was_quick = now() - began < std::chrono::seconds(5);
    const uint64_t lost = log_entries_lost();
    const size_t taken = journal.take().size();
    log_warning("something else");
    const auto entries = journal.take();
    const bool is_told =
        entries.size() == 2 && has_line(entries[1], fmt::format("PACE_ENTRIES={}", lost)) &&
        has_line(entries[1], "MESSAGE_ID=" + std::string(events::kLogEntriesLost.id));
    log_warning("and more");
    const bool is_told_once = journal.take().size() == 1;
    fmt::print(stderr, "quick {} all {} told {} once {}", was_quick,
               lost > 0 && taken + lost == 10'000, is_told, is_told_once);
}

TEST(Log, AFullJournalIsNotWaitedForAndTheLossIsToldOnce) {
    const FakeJournal journal;
    EXPECT_EQ(logged("own", [&] { overflow(journal); }), "quick true all true told true once true");
}

TEST(Log, APipeThatNobodyReadsIsNotWaitedFor) {
    const std::string text = logged("", [] {
        std::array<int, 2> ends{};
        const UniqueFd before(dup(STDERR_FILENO));
        if (pipe(ends.data()) != 0) return;
        dup2(ends[1], STDERR_FILENO);
        for (int i = 0; i < 10'000; ++i) log_warning("something", {{"number", i}});
        dup2(before.get(), STDERR_FILENO);
        fmt::print(stderr, "lost {}", log_entries_lost() > 0);
    });
    EXPECT_EQ(text, "lost true");
}

}  // namespace
}  // namespace pace::base
