#include "service/controller/shell/journal/journal.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "service/controller/shell/journal/journal_format.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::byte> record_of(size_t size, uint8_t fill) {
    return std::vector<std::byte>(size, static_cast<std::byte>(fill));
}

// Retries often, so that tests need not wait.
const Journal::Options kEager{
    .retry = milliseconds(5), .reserve_bytes = 16U << 10U, .compact_bytes = 1024};

class JournalTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "pace-journal-XXXXXX");
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ + "/journal";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    base::Result<Journal::Opened> open() { return Journal::open(path_, kEager); }

    static base::TimePoint soon() { return base::now() + seconds(20); }

    void write(const std::vector<std::vector<std::byte>>& records) {
        auto opened = open();
        ASSERT_TRUE(opened) << opened.error().message;
        opened->journal->start();
        for (const auto& record : records) opened->journal->append(record);
        ASSERT_TRUE(opened->journal->flush(soon()));
    }

    std::string folder_;
    std::string path_;
};

TEST_F(JournalTest, RecordsSurviveInOrder) {
    write({record_of(3, 1), record_of(0, 0)});
    write({record_of(200, 2)});
    const auto opened = open();
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->records, (std::vector{record_of(3, 1), record_of(0, 0), record_of(200, 2)}));
    EXPECT_EQ(opened->cut_because, "");
    EXPECT_EQ(opened->journal->status().records, 3U);
}

TEST_F(JournalTest, AFileTornAtAnyByteOpensAndGoesOn) {
    write({record_of(5, 1), record_of(40, 2)});
    const uintmax_t whole = std::filesystem::file_size(path_);
    const std::string copy = folder_ + "/copy";
    std::filesystem::copy_file(path_, copy);
    for (uintmax_t size = 0; size <= whole; ++size) {
        std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(path_, size);
        size_t kept = 0;
        {
            auto opened = open();
            ASSERT_TRUE(opened) << size;
            kept = opened->records.size();
            opened->journal->start();
            opened->journal->append(record_of(7, 9));
            ASSERT_TRUE(opened->journal->flush(soon()));
        }
        const auto again = open();
        ASSERT_TRUE(again) << size;
        EXPECT_EQ(again->cut_because, "") << size;
        ASSERT_EQ(again->records.size(), kept + 1) << size;
        EXPECT_EQ(again->records.back(), record_of(7, 9)) << size;
    }
}

TEST_F(JournalTest, ABadTailIsCutAndSaid) {
    write({record_of(5, 1), record_of(40, 2)});
    const uintmax_t whole = std::filesystem::file_size(path_);
    {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(whole) - 10);
        file.put('\x7f');
    }
    {
        const auto opened = open();
        ASSERT_TRUE(opened);
        EXPECT_EQ(opened->records.size(), 1U);
        EXPECT_EQ(opened->cut_at, kJournalHeaderBytes + kRecordHeaderBytes + 5);
        EXPECT_EQ(opened->cut_bytes, kRecordHeaderBytes + 40);
        EXPECT_EQ(opened->cut_because, "a record's checksum is wrong");
    }
    EXPECT_EQ(std::filesystem::file_size(path_), kJournalHeaderBytes + kRecordHeaderBytes + 5);
}

TEST_F(JournalTest, DamageInTheMiddleIsRefusedUnlessACutIsAskedFor) {
    write({record_of(5, 1)});
    write({record_of(40, 2)});
    write({record_of(50, 3)});
    const uintmax_t whole = std::filesystem::file_size(path_);
    {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(kJournalHeaderBytes + kRecordHeaderBytes + 5 + kRecordHeaderBytes + 7);
        file.put('\x7f');
    }
    {
        const auto opened = open();
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().kind, base::ErrorKind::corrupt);
        for (const std::string& word : {path_, std::string("--cut-damaged-journal")})
            EXPECT_NE(opened.error().message.find(word), std::string::npos)
                << opened.error().message;
    }
    EXPECT_EQ(std::filesystem::file_size(path_), whole);
    Journal::Options cutting = kEager;
    cutting.cut_damaged = true;
    {
        const auto opened = Journal::open(path_, cutting);
        ASSERT_TRUE(opened) << opened.error().message;
        EXPECT_EQ(opened->records, (std::vector<std::vector<std::byte>>{record_of(5, 1)}));
    }
    EXPECT_EQ(std::filesystem::file_size(path_ + ".damaged"), whole);
}

TEST_F(JournalTest, IsCompactedWhileItIsWritten) {
    {
        auto opened = open();
        ASSERT_TRUE(opened);
        Journal& journal = *opened->journal;
        journal.start();
        EXPECT_FALSE(journal.is_long());
        int appended = 0;
        for (; !journal.is_long(); ++appended) {
            ASSERT_LT(appended, 1000);
            journal.append(record_of(50, 3));
            ASSERT_TRUE(journal.flush(soon()));
        }
        // Records appended before are in the replacement; later records follow it.
        journal.append(record_of(50, 4));
        journal.replace({record_of(9, 1), record_of(50, 4)});
        journal.append(record_of(4, 5));
        ASSERT_TRUE(journal.flush(soon()));
        EXPECT_FALSE(journal.is_long());
        EXPECT_FALSE(open()) << "still locked under its name";
        journal.append(record_of(4, 6));
        ASSERT_TRUE(journal.flush(soon()));
    }
    const auto again = open();
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->records,
              (std::vector{record_of(9, 1), record_of(50, 4), record_of(4, 5), record_of(4, 6)}));
}

TEST_F(JournalTest, AnotherKindOfFileIsNeverTouched) {
    std::ofstream(path_) << "somebody's only copy of something";
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, base::ErrorKind::corrupt);
    EXPECT_NE(opened.error().message.find(path_), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(path_), 33U);
}

TEST_F(JournalTest, TwoControllersOnOneJournalAreRefused) {
    const auto first = open();
    ASSERT_TRUE(first);
    const auto second = open();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, base::ErrorKind::taken);
}

TEST_F(JournalTest, AMissingFolderIsSaid) {
    path_ = folder_ + "/none/journal";
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find(path_), std::string::npos);
}

TEST_F(JournalTest, CompactionKeepsTheRecordsAndTheLock) {
    std::vector<std::vector<std::byte>> many(100, record_of(50, 3));
    write(many);
    const std::vector<std::vector<std::byte>> few{record_of(9, 1), record_of(9, 2)};
    auto opened = open();
    ASSERT_TRUE(opened);
    const auto compacted = opened->journal->compact(few);
    ASSERT_TRUE(compacted) << compacted.error().message;
    EXPECT_TRUE(*compacted);
    EXPECT_FALSE(*opened->journal->compact(few)) << "it is short now";
    EXPECT_FALSE(open()) << "still locked under its name";
    opened->journal->start();
    opened->journal->append(record_of(4, 4));
    ASSERT_TRUE(opened->journal->flush(soon()));
    opened->journal.reset();
    const auto again = open();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->records, (std::vector{few[0], few[1], record_of(4, 4)}));
}

// Waits until the journal is failed, or is not, by its own retries.
bool becomes(const Journal& journal, bool failed) {
    const auto deadline = base::now() + seconds(20);
    while (journal.failure().has_value() != failed) {
        if (base::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

// A file size limit stands in for a full disk where no disk can be filled. The test runs in a child
// process, since the limit applies to the process.
TEST_F(JournalTest, AFileThatMayNotGrowFailsAndRecovers) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const auto limit = [](rlim_t bytes) {
            rlimit value{};
            getrlimit(RLIMIT_FSIZE, &value);
            value.rlim_cur = bytes;
            return setrlimit(RLIMIT_FSIZE, &value) == 0;
        };
        auto opened = open();
        if (!opened) _exit(1);
        Journal& journal = *opened->journal;
        journal.start();
        journal.append(record_of(10, 1));
        if (!journal.flush(soon())) _exit(2);
        if (!limit(64)) _exit(3);
        journal.append(record_of(100, 2));
        if (!becomes(journal, true)) _exit(4);
        if (journal.failure()->kind != base::ErrorKind::disk) _exit(5);
        journal.append(record_of(5, 3));
        if (!limit(RLIM_INFINITY)) _exit(6);
        if (!becomes(journal, false)) _exit(7);
        if (!journal.flush(soon())) _exit(8);
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    const auto opened = open();
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->records, (std::vector{record_of(10, 1), record_of(100, 2), record_of(5, 3)}));
    EXPECT_EQ(opened->cut_because, "");
}

TEST_F(JournalTest, AFullDiskIsNoticedBeforeARecordIsAccepted) {
    const std::string mount_point = folder_ + "/disk";
    std::filesystem::create_directory(mount_point);
    if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=64k") != 0)
        GTEST_SKIP() << "mounting a small disk needs root";
    const std::string ballast = mount_point + "/ballast";
    path_ = mount_point + "/journal";
    {
        auto opened = open();
        ASSERT_TRUE(opened) << opened.error().message;
        Journal& journal = *opened->journal;
        EXPECT_FALSE(journal.failure());
        journal.start();
        std::ofstream(ballast) << std::string(60U << 10U, 'x');  // as much as still fits
        // The appended records fit the reserve; a new reserve does not fit.
        for (int i = 0; i < 9; ++i) journal.append(record_of(1000, 1));
        EXPECT_TRUE(becomes(journal, true));
        EXPECT_TRUE(journal.flush(soon()));
        EXPECT_EQ(journal.failure()->kind, base::ErrorKind::disk);
        std::filesystem::remove(ballast);
        EXPECT_TRUE(becomes(journal, false));
    }
    {
        std::filesystem::remove(path_);
        std::ofstream(ballast) << std::string(64U << 10U, 'x');
        auto opened = open();
        ASSERT_TRUE(opened) << "a full disk is no reason not to serve";
        EXPECT_TRUE(opened->journal->failure());
    }
    umount2(mount_point.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace pace::controller
