#include "daemon/server/checkpoint_folder.h"

#include <set>

#include <gtest/gtest.h>

#include "base/simulation/simulated_files.h"
#include "daemon/server/tests/test_folder.h"

namespace pace::server {
namespace {

TEST(CheckpointFolder, NamesAreReadBackAndNothingElseIsAName) {
    const CheckpointName name{7, 105, 16, 3};
    EXPECT_EQ(text_of(name), "00000000000000000007.00000000000000000105.3-of-16");
    EXPECT_EQ(parse_checkpoint_name(text_of(name)), name);
    const CheckpointName last{~uint64_t{0}, ~uint64_t{0}, 1, 0};
    EXPECT_EQ(parse_checkpoint_name(text_of(last)), last);
    const std::string start = "00000000000000000007.00000000000000000105";
    EXPECT_TRUE(parse_checkpoint_name(start + ".3-of-16"));
    for (const std::string& text :
         {std::string(), std::string("7.105.3-of-16"), start.substr(0, 20) + ".3-of-16",
          start + ".16-of-16", start + ".3-of-016", start + ".3-of-16.part", start + ".-3-of-16",
          start + ".3-of-", "99999999999999999999." + start.substr(21) + ".0-of-1",
          start.substr(0, 40) + "x.0-of-1"})
        EXPECT_FALSE(parse_checkpoint_name(text)) << text;
}

TEST(CheckpointFolder, ListsWhatIsThereInOrder) {
    const TestFolder folder;
    const CheckpointFolder job(folder.path("checkpoints"), 7, "job");
    ASSERT_TRUE(job.list());
    EXPECT_TRUE(job.list()->empty());
    ASSERT_TRUE(job.create());
    ASSERT_TRUE(job.create());
    for (const char* name : {"00000000000000000002.00000000000000000020.0-of-2",
                             "00000000000000000002.00000000000000000009.1-of-2", "notes",
                             "00000000000000000002.00000000000000000020.1-of-2.part"})
        folder.write(std::string("checkpoints/7/job.model/") + name, {'x'});
    const auto names = job.list();
    ASSERT_TRUE(names);
    EXPECT_EQ(*names, (std::vector<CheckpointName>{{2, 9, 2, 1}, {2, 20, 2, 0}}));
}

TEST(CheckpointFolder, RemovesOldOnesAndWhatWasNeverFinished) {
    const TestFolder folder;
    const CheckpointFolder job(folder.path(), 7, "job");
    ASSERT_TRUE(job.create());
    for (const char* name : {"00000000000000000002.00000000000000000020.0-of-2",
                             "00000000000000000002.00000000000000000009.1-of-2", "notes",
                             "00000000000000000001.00000000000000000030.0-of-2",
                             "00000000000000000002.00000000000000000010.1-of-2.part"})
        folder.write(std::string("7/job.model/") + name, {'x'});
    job.remove_before(2, 20);
    EXPECT_EQ(*job.list(), (std::vector<CheckpointName>{{2, 20, 2, 0}}));
    EXPECT_FALSE(std::filesystem::exists(
        folder.path("7/job.model/00000000000000000002.00000000000000000010.1-of-2.part")));
    EXPECT_TRUE(std::filesystem::exists(folder.path("7/job.model/notes")));
}

TEST(CheckpointFolder, AJobsNameLeadsNowhereElse) {
    const TestFolder folder;
    const CheckpointFolder job(folder.path("a"), 7, "..");
    ASSERT_TRUE(job.create());
    EXPECT_TRUE(std::filesystem::exists(folder.path("a/7/...model")));
}

// Which folders were synced.
class SyncedFolders final : public base::SimulatedFiles {
  public:
    int before(const base::FileStep& step) override {
        if (step.kind == base::FileStep::Kind::sync_folder) all.emplace(step.path);
        return 0;
    }
    std::set<std::string, std::less<>> all;
};

// A power cut takes a folder whose name is not durable, with the checkpoints in it. A daemon that
// died at once may have left one.
TEST(CheckpointFolder, TheNamesOfItsFoldersAreDurable) {
    const TestFolder folder;
    for (int life = 0; life < 2; ++life) {
        const CheckpointFolder job(folder.path("deep/checkpoints"), 7, "job");
        SyncedFolders synced;
        ASSERT_TRUE(job.create());
        for (const char* name : {"deep/checkpoints/7", "deep/checkpoints", "deep"})
            EXPECT_TRUE(synced.all.contains(folder.path(name))) << "life " << life << ": " << name;
        // Once is enough.
        synced.all.clear();
        ASSERT_TRUE(CheckpointFolder(job).create());
        EXPECT_TRUE(synced.all.empty());
    }
}

TEST(CheckpointFolder, AFolderThatCannotBeMadeIsNamed) {
    const TestFolder folder;
    folder.write("file", {'x'});
    const auto made = CheckpointFolder(folder.path("file"), 7, "job").create();
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("file/7/job.model"), std::string::npos);
}

}  // namespace
}  // namespace pace::server
