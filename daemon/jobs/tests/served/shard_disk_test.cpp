// What a server job looks for on a disk, which may take long to answer.
#include "daemon/families/serving/shards/shard_disk.h"

#include <filesystem>
#include <latch>
#include <optional>
#include <string>

#include "daemon/jobs/tests/job_fixture.h"

namespace pace::daemon {
namespace {

// A node whose disk does not answer before answer() is called.
class SlowDisk : public JobFixture {
  protected:
    SlowDisk() {
        std::string folder = (std::filesystem::temp_directory_path() / "pace-disk-XXXXXX").string();
        services_.options.checkpoints = mkdtemp(folder.data());
        options_.name = "served";
        options_.policy = control::Policy::ssp;
        options_.elements = 4;
        options_.restore = true;
        services_.lists->run([this] { answers_.wait(); });
    }
    ~SlowDisk() override {
        if (!answers_.try_wait()) answers_.count_down();
        std::filesystem::remove_all(services_.options.checkpoints);
    }
    void answer() { answers_.count_down(); }
    void turn_until(const std::function<bool()>& so) {
        while (!so()) loop_->turn(true);
    }

    std::latch answers_{1};
    control::JobOptions options_;
    base::Scope scope_;
};

TEST_F(SlowDisk, HoldsNobodyUpWhoseCheckpointsAreListed) {
    ShardDisk disk(services_, options_, 1000);
    std::optional<size_t> listed;
    disk.list([&](const auto& models) { listed = models.size(); });
    loop_->turn(false);
    EXPECT_FALSE(listed) << "it has not answered";
    answer();
    turn_until([&] { return listed.has_value(); });
    EXPECT_EQ(listed, 0U);
}

TEST_F(SlowDisk, HoldsNobodyUpWhoseJobIsToRestore) {
    std::optional<bool> fits;
    ShardDisk::check(services_, scope_, options_, 1000,
                     [&](const base::Result<>& checked) { fits = checked.ok(); });
    loop_->turn(false);
    EXPECT_FALSE(fits) << "it has not answered";
    answer();
    turn_until([&] { return fits.has_value(); });
    EXPECT_EQ(fits, true) << "there is nothing to restore, which is no error";
}

TEST_F(SlowDisk, IsNotAskedForAJobThatRestoresNothing) {
    options_.restore = false;
    std::optional<bool> fits;
    ShardDisk::check(services_, scope_, options_, 1000,
                     [&](const base::Result<>& checked) { fits = checked.ok(); });
    EXPECT_EQ(fits, true);
}

// However such a name may have come here.
TEST_F(SlowDisk, IsAskedForNoFolderOutsideItsOwn) {
    for (const char* name : {"../1000/victim", "a/b", ".", "..", ""}) {
        options_.name = name;
        std::optional<bool> fits;
        ShardDisk::check(services_, scope_, options_, 1000,
                         [&](const base::Result<>& checked) { fits = checked.ok(); });
        EXPECT_EQ(fits, false) << name;
        ShardDisk disk(services_, options_, 1000);
        std::optional<size_t> listed;
        disk.list([&](const auto& models) { listed = models.size(); });
        EXPECT_EQ(listed, 0U) << name;
    }
}

}  // namespace
}  // namespace pace::daemon
