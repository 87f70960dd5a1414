#include "service/simulator/measured/status_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "service/simulator/measured/measured_job.h"

namespace pace::simulator {
namespace {

class StatusSource : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "pace-sim-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string file(const std::string& name, const std::string& text) const {
        const std::string path = folder_ / name;
        std::ofstream(path) << text;
        return path;
    }
    // Makes a program that does what the lines say.
    std::string program(const std::string& lines) const {
        const std::string path = file("pacectl", "#!/bin/sh\n" + lines);
        EXPECT_EQ(chmod(path.c_str(), 0700), 0);
        return path;
    }

    std::filesystem::path folder_;
};

TEST_F(StatusSource, MayBeAFile) {
    EXPECT_EQ(*read_status(file("s.json", "{}")), "{}");
    const auto none = read_status((folder_ / "none.json").string());
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("none.json: No such file"), std::string::npos);
    EXPECT_FALSE(read_status(folder_.string()));
}

TEST_F(StatusSource, IsReadNoFurtherThanItMayBeLarge) {
    const std::string path = file("large.json", "");
    std::filesystem::resize_file(path, kStatusBytesMax + 1);
    const auto large = read_status(path);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().message, path + " has more than 16 MiB; a status document is smaller");
}

// Each word arrives unchanged, because no shell is involved.
TEST_F(StatusSource, IsWhatPacectlPrints) {
    const std::string pacectl = program("printf '%s|' \"$@\"\n");
    EXPECT_EQ(*ask_program(pacectl, ""), "status|--json|");
    EXPECT_EQ(*ask_program(pacectl, "unix:/a b; exit"),
              "--endpoint|unix:/a b; exit|status|--json|");
}

TEST_F(StatusSource, PacectlThatFailsIsSaid) {
    const std::string pacectl = program("exit 3\n");
    const auto answer = ask_program(pacectl, "");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message,
              "`" + pacectl + " status --json` ended with 3; its message is above");
}

TEST_F(StatusSource, PacectlThatNeverEndsItsDocumentIsLeft) {
    const auto answer = ask_program(program("exec cat /dev/zero\n"), "");
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().message.find("has more than 16 MiB"), std::string::npos);
}

TEST_F(StatusSource, PacectlThatIsNotThereIsSaid) {
    const auto answer = ask_program((folder_ / "none").string(), "");
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().message.find("cannot be run (No such file or directory); put it into "
                                          "PATH, or give its document with --status"),
              std::string::npos)
        << answer.error().message;
}

}  // namespace
}  // namespace pace::simulator
