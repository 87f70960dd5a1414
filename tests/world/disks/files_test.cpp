// What deaths and power cuts leave of files in the simulated world, and of the controller's
// journal.
#include <filesystem>

#include <gtest/gtest.h>

#include "daemon/server/tests/test_folder.h"
#include "daemon/server/whole_file.h"
#include "service/controller/shell/journal/journal_format.h"
#include "tests/world/disks/files.h"
#include "tests/world/disks/journal_disk.h"

namespace pace::world {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
  protected:
    FilesTest() { fs::create_directory(files_.folder_of(0)); }

    std::string path() const { return files_.folder_of(0) + "/a"; }
    static std::vector<std::byte> of(std::byte value) {
        return std::vector<std::byte>(1000, value);
    }
    // Writes a file whole; the process dies at the so manieth step.
    void write(std::byte value, int dies_at) {
        files_.begin(0);
        steps_left_ = dies_at;
        (void)server::write_whole(path(), of(value));
        files_.end(0);
    }
    std::vector<std::byte> read() {
        files_.begin(0);
        auto bytes = server::read_whole(path(), 10000);
        return bytes ? *bytes : std::vector<std::byte>();
    }

    static constexpr std::byte kOld{1};
    static constexpr std::byte kNew{2};
    const server::TestFolder folder_;
    Clockwork clockwork_{1};
    Ledger ledger_{clockwork_};
    int steps_left_ = 0;
    Files files_{clockwork_, ledger_, folder_.path("disks"), 1,
                 [this](const char*, MachineId) { return --steps_left_ != 0; }};
};

TEST_F(FilesTest, AFileThatIsReplacedIsTheOldOneOrTheNewOneAfterEveryDeath) {
    for (int round = 0; round < 20; ++round)
        for (int step = 1; step <= 6; ++step) {
            write(kOld, 0);
            write(kNew, step);
            if (round % 2 == 0) files_.cut_power(0);
            const auto is = read();
            EXPECT_TRUE(is == of(kOld) || is == of(kNew)) << is.size() << " bytes, step " << step;
            EXPECT_TRUE(step > 4 || is == of(kOld)) << step;
            EXPECT_TRUE(step < 6 || is == of(kNew)) << step;
        }
    EXPECT_TRUE(ledger_.wrongs().empty());
}

TEST_F(FilesTest, APowerCutLeavesAnyPartOfWhatWasNotSynced) {
    bool is_short = false;
    bool has_zeros = false;
    const std::string part = path() + ".part";
    for (int round = 0; round < 40; ++round) {
        write(kNew, 3);  // before the sync
        EXPECT_EQ(fs::file_size(part), 1000U);
        files_.cut_power(0);
        if (!fs::exists(part)) continue;
        files_.begin(0);
        const auto is = server::read_whole(part, 10000).value();
        is_short = is_short || is.size() < 1000;
        has_zeros = has_zeros || (!is.empty() && is.back() == std::byte{0});
        fs::remove(part);
    }
    EXPECT_TRUE(is_short);
    EXPECT_TRUE(has_zeros);
}

TEST_F(FilesTest, AFileThatGetsItsNameBeforeItIsSyncedIsWrong) {
    files_.begin(0);
    const std::string part = path() + ".part";
    base::file_step({base::FileStep::Kind::create, part}, [] { return 0; });
    base::file_step({base::FileStep::Kind::rename, part, path()}, [] { return 0; });
    EXPECT_EQ(ledger_.wrongs().size(), 1U);
}

TEST_F(FilesTest, AFullDiskTakesAPartAndABrokenOneGivesNothing) {
    files_.begin(0);
    files_.fill(0, true);
    bool was_full = false;
    for (int round = 0; round < 10; ++round) {
        const auto written = server::write_whole(path(), of(kNew));
        ASSERT_FALSE(written);
        was_full = was_full || written.error().message.find("write") != std::string::npos;
    }
    EXPECT_TRUE(was_full);
    files_.fill(0, false);
    ASSERT_TRUE(server::write_whole(path(), of(kOld)));
    files_.set_broken(0, true);
    EXPECT_FALSE(server::read_whole(path(), 10000));
    EXPECT_FALSE(server::write_whole(path(), of(kNew)));
    files_.set_broken(0, false);
    EXPECT_EQ(read(), of(kOld));
}

// What was durable is read, then whole records of the last write at most, in order.
TEST(JournalDisk, OfATornJournalTheWholeRecordsAreRead) {
    size_t most = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        Clockwork clockwork(seed);
        JournalDisk disk(clockwork);
        for (size_t i = 0; i < 9; ++i)
            disk.append(std::vector<std::byte>(1 + 20 * i, static_cast<std::byte>(i)));
        clockwork.advance(clockwork.now() + std::chrono::milliseconds(5));
        disk.die();
        const auto recovered = controller::recover_journal(disk.file());
        ASSERT_TRUE(recovered);
        EXPECT_EQ(recovered->whole_behind, 0U) << "seed " << seed;
        EXPECT_EQ(disk.take_up(recovered->records), "") << "seed " << seed;
        most = std::max(most, recovered->records.size() - disk.durable());
    }
    EXPECT_GT(most, 2U);
}

}  // namespace
}  // namespace pace::world
