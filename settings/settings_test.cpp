#include "settings/settings.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "settings/sources.h"

namespace pace::settings {
namespace {

using base::Result;
using std::chrono::milliseconds;

// A file that is removed when the test ends.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& content) : path_(testing::TempDir() + "paceXXXXXX") {
        const base::UniqueFd fd(mkstemp(path_.data()));
        std::ofstream(path_) << content;
    }
    ~TemporaryFile() { unlink(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

Result<Loaded> load_daemon(std::vector<const char*> arguments,
                           std::vector<const char*> environment = {}) {
    arguments.insert(arguments.begin(), "paced");
    environment.push_back(nullptr);
    return load(daemon_table(), static_cast<int>(arguments.size()), arguments.data(),
                environment.data());
}

TEST(Settings, HoldTheDefaultsWhenNothingIsSaid) {
    const auto loaded = load_daemon({});
    ASSERT_TRUE(loaded) << loaded.error().message;
    const Settings& settings = loaded->settings;
    EXPECT_EQ(settings.text("socket"), "/run/pace/paced.sock");
    EXPECT_EQ(settings.milliseconds("heartbeat_ms"), milliseconds(200));
    EXPECT_EQ(settings.bytes("client_bytes_max"), uint64_t{8} << 30);
    EXPECT_FALSE(settings.enabled("insecure"));
    EXPECT_EQ(settings.origin("socket"), "default");
    EXPECT_FALSE(loaded->print);
}

TEST(Settings, TheCommandLineBeatsTheEnvironmentBeatsTheFile) {
    const TemporaryFile file(
        "socket = '/from/file'\n"
        "name = 'from-file'\n"
        "heartbeat_ms = 100\n");
    const auto loaded =
        load_daemon({"--config", file.path().c_str(), "--name", "from-flag"},
                    {"PACED_NAME=from-variable", "PACED_HEARTBEAT_MS=150 ms", "HOME=/"});
    ASSERT_TRUE(loaded) << loaded.error().message;
    const Settings& settings = loaded->settings;
    EXPECT_EQ(settings.text("socket"), "/from/file");
    EXPECT_EQ(settings.origin("socket"), file.path() + ":1");
    EXPECT_EQ(settings.milliseconds("heartbeat_ms"), milliseconds(150));
    EXPECT_EQ(settings.origin("heartbeat_ms"), "PACED_HEARTBEAT_MS");
    EXPECT_EQ(settings.text("name"), "from-flag");
    EXPECT_EQ(settings.origin("name"), "--name");
}

TEST(Settings, TheFileMayBeNamedByTheEnvironment) {
    const TemporaryFile file("name = 'n7'\n");
    const std::string variable = "PACED_CONFIG=" + file.path();
    const auto loaded = load_daemon({}, {variable.c_str()});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->settings.text("name"), "n7");
    EXPECT_TRUE(loaded->warnings.empty());
}

TEST(Settings, ANamedFileMustExistAndBeAFileOfBoundedSize) {
    const auto absent = load_daemon({"--config", "/nonexistent/paced.toml"});
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().message,
              "open configuration /nonexistent/paced.toml: No such file or directory");
    const auto folder = load_daemon({"--config", "/"});
    EXPECT_EQ(folder.error().message, "configuration / is not a file");
    const TemporaryFile large(std::string(kFileBytesMax + 1, '#'));
    EXPECT_FALSE(load_daemon({"--config", large.path().c_str()}));
}

TEST(Settings, FlagsAreDashedAndBooleansNeedNoValue) {
    const auto loaded = load_daemon({"--client-bytes-max=2GiB", "--insecure"});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->settings.bytes("client_bytes_max"), uint64_t{2} << 30);
    EXPECT_TRUE(loaded->settings.enabled("insecure"));
    const auto off = load_daemon({"--insecure=false"}, {"PACED_INSECURE=yes"});
    ASSERT_TRUE(off) << off.error().message;
    EXPECT_FALSE(off->settings.enabled("insecure"));
}

TEST(Settings, ErrorsOfFlagsAndVariablesNameTheSourceTheValueAndTheBounds) {
    EXPECT_EQ(load_daemon({"--heartbeat-ms", "5"}).error().message,
              "--heartbeat-ms 5: give 10 .. 60000 ms");
    EXPECT_EQ(load_daemon({}, {"PACED_LOG_LEVEL=loud"}).error().message,
              "environment variable PACED_LOG_LEVEL=loud: give one of error, warning, info, debug");
    EXPECT_EQ(load_daemon({"--sokcet", "/x"}).error().message,
              "unknown argument '--sokcet'; did you mean 'socket'? `paced --help` lists all");
    EXPECT_FALSE(load_daemon({"stray"}));
    EXPECT_FALSE(load_daemon({"--socket"}));
}

TEST(Settings, AVariableThatSetsNothingIsSaid) {
    const auto loaded = load_daemon({}, {"PACED_SOKCET=/x"});
    ASSERT_TRUE(loaded);
    ASSERT_EQ(loaded->warnings.size(), 1U);
    EXPECT_EQ(loaded->warnings[0], "the environment variable PACED_SOKCET sets nothing");
}

TEST(Settings, HelpAndVersionArePrintedAndNothingIsRead) {
    for (const char* flag : {"--help", "-h", "--help-config", "--version"}) {
        const auto loaded = load_daemon({flag, "--config", "/nonexistent/file"});
        ASSERT_TRUE(loaded) << flag << ": " << loaded.error().message;
        ASSERT_TRUE(loaded->print) << flag;
        EXPECT_FALSE(loaded->print->empty());
    }
    EXPECT_NE(load_daemon({"--help"})->print->find("--progress-deadline-ms"), std::string::npos);
    EXPECT_EQ(*load_daemon({"--version"})->print, "paced " PACE_VERSION "\n");
}

}  // namespace
}  // namespace pace::settings
