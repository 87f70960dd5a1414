#include "base/log.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace pace::base {
namespace {

// What a process of its own writes to standard error, which is a pipe. JOURNAL_STREAM is set to `stream`, "own" for that
// pipe, if it is not empty.
std::string logged(const std::string& stream, void (*write_lines)()) {
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

}  // namespace
}  // namespace pace::base
