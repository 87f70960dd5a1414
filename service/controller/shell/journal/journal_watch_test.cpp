#include "service/controller/shell/journal/journal_watch.h"

#include <cerrno>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "service/controller/shell/journal/note_log.h"

namespace pace::controller {
namespace {

template <typename Act>
std::string logged(const Act& act) {
    testing::internal::CaptureStderr();
    act();
    return testing::internal::GetCapturedStderr();
}

TEST(JournalWatch, TellsAFullDiskOnceAndItsEnd) {
    JournalWatch watch;
    const auto full = base::make_errno_error(ENOSPC, "journal /j: write");
    const std::string began = logged([&] {
        watch.look(std::nullopt);
        watch.look(full);
    });
    EXPECT_NE(began.find("warning disk full because=\"journal /j: write: No space left"),
              std::string::npos)
        << began;
    EXPECT_NE(began.find("advice="), std::string::npos);
    EXPECT_EQ(logged([&] { watch.look(full); }), "");
    EXPECT_NE(logged([&] { watch.look(std::nullopt); }).find("journal writes again"),
              std::string::npos);
    EXPECT_EQ(logged([&] { watch.look(std::nullopt); }), "");
}

TEST(JournalWatch, TellsAnotherFailureAsOne) {
    JournalWatch watch;
    EXPECT_NE(logged([&] {
                  watch.look(base::make_errno_error(EIO, "journal /j: write"));
              }).find("warning journal failed because="),
              std::string::npos);
}

TEST(NoteLog, TellsOfADaemonThatIsRefusedWhereItCameFrom) {
    const std::string refused = logged([] {
        log_note({true, "a daemon was refused", "node 'a': taken"}, "10.0.0.7");
    });
    EXPECT_NE(refused.find("a daemon was refused from=10.0.0.7 detail=\"node 'a': taken\" advice="),
              std::string::npos)
        << refused;
    const std::string other = logged([] { log_note({false, "job-ended", "job a"}, "10.0.0.7"); });
    EXPECT_EQ(other.find("from="), std::string::npos) << other;
}

}  // namespace
}  // namespace pace::controller
