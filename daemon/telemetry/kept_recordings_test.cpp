#include "daemon/telemetry/kept_recordings.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

namespace fs = std::filesystem;

class KeptRecordingsTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "pace-recordings-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        state_ = pattern;
        folder_ = state_ / "recordings";
    }
    void TearDown() override { fs::remove_all(state_); }

    std::vector<std::string> files() const {
        std::vector<std::string> names;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(folder_, none))
            names.push_back(entry.path().filename());
        std::sort(names.begin(), names.end());
        return names;
    }
    bool until(const std::function<bool()>& holds) {
        const auto deadline = base::now() + std::chrono::seconds(20);
        std::function<void()> again;
        base::Timer tick;
        again = [&] { tick = loop_->run_after(std::chrono::milliseconds(10), again); };
        again();
        while (!holds() && base::now() < deadline) loop_->turn(true);
        return holds();
    }
    std::unique_ptr<KeptRecordings> make(const fs::path& folder) {
        return std::make_unique<KeptRecordings>(*loop_, folder, [this](const std::string& reason) {
            ++made_;
            return [reason] { return "because " + reason; };
        });
    }
    bool has_file_of(const std::string& reason) const {
        const auto names = files();
        return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
            return name.ends_with("Z-" + reason + ".json");
        });
    }

    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    fs::path state_;
    fs::path folder_;
    int made_ = 0;
};

TEST_F(KeptRecordingsTest, AFileIsOfAllThatGoesWrongAtOnceAndForItsOwnerAlone) {
    const auto kept = make(folder_);
    kept->keep("suspended");
    kept->keep("peer-gone");
    ASSERT_TRUE(until([&] { return has_file_of("suspended"); }));
    ASSERT_EQ(files().size(), 1U);
    EXPECT_EQ(made_, 1);
    std::string text;
    std::getline(std::ifstream(folder_ / files().front()), text);
    EXPECT_EQ(text, "because suspended");
    struct stat file {};
    ASSERT_EQ(stat((folder_ / files().front()).c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777U, 0600U);
}

TEST_F(KeptRecordingsTest, TheOldestFilesGo) {
    fs::create_directory(folder_);
    for (int i = 0; i < 12; ++i)
        std::ofstream(folder_ / fmt::format("recording-2001{:04}T000000.000Z-old.json", i)) << i;
    std::ofstream(folder_ / "another.txt") << "stays";
    make(folder_)->keep("excluded");  // and is destroyed before the file is written
    EXPECT_EQ(files().size(), 13U);
    const auto kept = make(folder_);
    kept->keep("excluded");
    ASSERT_TRUE(until([&] { return has_file_of("excluded") && files().size() == 9; }));
    EXPECT_EQ(files().front(), "another.txt");
    EXPECT_EQ(files()[1], "recording-20010005T000000.000Z-old.json");
}

TEST_F(KeptRecordingsTest, AFolderThatCannotBeMadeHarmsNobody) {
    std::ofstream(state_ / "file") << "in the way";
    const auto kept = make(state_ / "file" / "recordings");
    kept->keep("excluded");
    EXPECT_TRUE(until([&] { return made_ == 1; }));
    make({})->keep("excluded");
    EXPECT_EQ(made_, 1);
}

TEST_F(KeptRecordingsTest, TheFolderIsInTheStateOfTheService) {
    unsetenv("STATE_DIRECTORY");
    EXPECT_EQ(recordings_folder(), "");
    setenv("STATE_DIRECTORY", "relative", 1);
    EXPECT_EQ(recordings_folder(), "");
    setenv("STATE_DIRECTORY", "/var/lib/pace:/var/lib/other", 1);
    EXPECT_EQ(recordings_folder(), "/var/lib/pace/recordings");
    unsetenv("STATE_DIRECTORY");
}

}  // namespace
}  // namespace pace::daemon
