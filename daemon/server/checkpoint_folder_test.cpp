#include "daemon/server/checkpoint_folder.h"

#include <gtest/gtest.h>

#include "daemon/server/test_folder.h"

namespace pace::server {
namespace {

TEST(CheckpointFolder, NamesAreReadBackAndNothingElseIsAName) {
    const CheckpointName name{105, 16, 3};
    EXPECT_EQ(text_of(name), "00000000000000000105.3-of-16");
    EXPECT_EQ(parse_checkpoint_name(text_of(name)), name);
    const CheckpointName last{~uint64_t{0}, 1, 0};
    EXPECT_EQ(parse_checkpoint_name(text_of(last)), last);
    for (const char* text : {"", "105.3-of-16", "00000000000000000105.16-of-16",
                             "00000000000000000105.3-of-016", "00000000000000000105.3-of-16.part",
                             "00000000000000000105.-3-of-16", "99999999999999999999.0-of-1",
                             "00000000000000000105.3-of-", "0000000000000000010x.0-of-1"})
        EXPECT_FALSE(parse_checkpoint_name(text)) << text;
}

TEST(CheckpointFolder, ListsWhatIsThereInOrder) {
    const TestFolder folder;
    const CheckpointFolder job(folder.path("checkpoints"), "job");
    ASSERT_TRUE(job.list());
    EXPECT_TRUE(job.list()->empty());
    ASSERT_TRUE(job.create());
    ASSERT_TRUE(job.create());
    for (const char* name : {"00000000000000000020.0-of-2", "00000000000000000009.1-of-2", "notes",
                             "00000000000000000020.1-of-2.part"})
        folder.write(std::string("checkpoints/job.model/") + name, {'x'});
    const auto names = job.list();
    ASSERT_TRUE(names);
    EXPECT_EQ(*names, (std::vector<CheckpointName>{{9, 2, 1}, {20, 2, 0}}));
}

TEST(CheckpointFolder, RemovesOldOnesAndWhatWasNeverFinished) {
    const TestFolder folder;
    const CheckpointFolder job(folder.path(), "job");
    ASSERT_TRUE(job.create());
    for (const char* name : {"00000000000000000020.0-of-2", "00000000000000000009.1-of-2", "notes",
                             "00000000000000000010.1-of-2.part"})
        folder.write(std::string("job.model/") + name, {'x'});
    job.remove_before(20);
    EXPECT_EQ(*job.list(), (std::vector<CheckpointName>{{20, 2, 0}}));
    EXPECT_FALSE(
        std::filesystem::exists(folder.path("job.model/00000000000000000010.1-of-2.part")));
    EXPECT_TRUE(std::filesystem::exists(folder.path("job.model/notes")));
}

TEST(CheckpointFolder, AJobsNameLeadsNowhereElse) {
    const TestFolder folder;
    const CheckpointFolder job(folder.path("a"), "..");
    ASSERT_TRUE(job.create());
    EXPECT_TRUE(std::filesystem::exists(folder.path("a/...model")));
}

TEST(CheckpointFolder, AFolderThatCannotBeMadeIsNamed) {
    const TestFolder folder;
    folder.write("file", {'x'});
    const auto made = CheckpointFolder(folder.path("file"), "job").create();
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("file/job.model"), std::string::npos);
}

TEST(CheckpointFolder, ThePositionThatAllShardsHaveIsTheNewestWholeOne) {
    EXPECT_EQ(newest_whole({}, 2), std::nullopt);
    const std::vector<CheckpointName> names{{9, 2, 0}, {9, 2, 1}, {20, 2, 0}, {30, 1, 0}};
    EXPECT_EQ(newest_whole(names, 2), 9U);
    EXPECT_EQ(newest_whole(names, 1), 30U);
    EXPECT_EQ(newest_whole(names, 3), std::nullopt);
}

}  // namespace
}  // namespace pace::server
