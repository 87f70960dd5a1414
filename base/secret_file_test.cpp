#include "base/secret_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"

namespace pace::base {
namespace {

// Another user, as long as it lives. Only root can become one.
class AnotherUser {
  public:
    AnotherUser() { EXPECT_EQ(seteuid(65534), 0); }
    ~AnotherUser() { EXPECT_EQ(seteuid(0), 0); }
    AnotherUser(const AnotherUser&) = delete;
    AnotherUser& operator=(const AnotherUser&) = delete;
};

class SecretFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        unsetenv("CREDENTIALS_DIRECTORY");
        ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
        ASSERT_EQ(mkdir(folder_.file("credentials").c_str(), 0755), 0);
    }
    void TearDown() override { unsetenv("CREDENTIALS_DIRECTORY"); }

    std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
        const std::string path = folder_.file(name);
        std::ofstream(path) << text;
        EXPECT_EQ(chmod(path.c_str(), mode), 0);
        return path;
    }

    // As systemd does: read-only, and its own for the service's user.
    void pass_credential(const std::string& name, const std::string& text, uid_t user = 0) const {
        const std::string path = write("credentials/" + name, text, 0400);
        if (user != 0) {
            ASSERT_EQ(chown(path.c_str(), user, static_cast<gid_t>(-1)), 0);
        }
        setenv("CREDENTIALS_DIRECTORY", folder_.file("credentials").c_str(), 1);
    }

    static std::string read_secret(const std::string& path) {
        const auto fd = open_secret_file("curve_secret_file", path);
        if (!fd) return fmt::format("{}: {}", error_kind_name(fd.error().kind), fd.error().message);
        std::array<char, 64> text{};
        const ssize_t got = read(fd->get(), text.data(), text.size());
        return std::string(text.data(), got < 0 ? 0 : static_cast<size_t>(got));
    }

    const testing::TemporaryFolder folder_;
};

TEST_F(SecretFileTest, TheNamedFileIsReadWithoutSystemd) {
    EXPECT_EQ(read_secret(write("paced.secret", "named")), "named");
}

TEST_F(SecretFileTest, ACredentialTakesThePlaceOfAFileThatIsNotThere) {
    pass_credential("paced.secret", "passed");
    EXPECT_EQ(read_secret(folder_.file("paced.secret")), "passed");
    EXPECT_EQ(read_secret("paced.secret"), "passed");
}

TEST_F(SecretFileTest, AFileThatMayBeReadIsNotReplacedByACredential) {
    pass_credential("paced.secret", "passed");
    EXPECT_EQ(read_secret(write("paced.secret", "named")), "named");
}

TEST_F(SecretFileTest, ACredentialTakesThePlaceOfAFileThatIsRoots) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    const std::string path = write("paced.secret", "named");
    pass_credential("paced.secret", "passed", 65534);
    const AnotherUser other;
    EXPECT_EQ(read_secret(path), "passed");
}

TEST_F(SecretFileTest, ACredentialOfAnotherNameIsNotTaken) {
    pass_credential("controller.secret", "passed");
    EXPECT_NE(read_secret(folder_.file("paced.secret")).find("No such file"), std::string::npos);
}

// Units have such credentials for files that a site does not use.
TEST_F(SecretFileTest, ACredentialOfAnEmptyLineIsNone) {
    for (const char* none : {"", "\n"}) {
        pass_credential("paced.secret", none);
        EXPECT_NE(read_secret(folder_.file("paced.secret")).find("No such file"),
                  std::string::npos);
        ASSERT_EQ(unlink(folder_.file("credentials/paced.secret").c_str()), 0);
    }
}

TEST_F(SecretFileTest, NoNameLeadsOutOfTheFolderOfCredentials) {
    pass_credential("paced.secret", "passed");
    for (const std::string path : {"", "/", "/nothing/", "/nothing/..", "/nothing/."})
        EXPECT_EQ(read_secret(path).find("passed"), std::string::npos) << path;
}

TEST_F(SecretFileTest, WhoMayNotReadIsToldHowSystemdPassesTheFile) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    const std::string path = write("node-1.secret", "named");
    const AnotherUser other;
    const std::string said = read_secret(path);
    for (const std::string& word :
         {std::string("denied"), "LoadCredential=node-1.secret:" + path, std::string("user 65534")})
        EXPECT_NE(said.find(word), std::string::npos) << said;
}

TEST_F(SecretFileTest, AFileThatOthersCanReadOrChangeIsRefused) {
    pass_credential("paced.secret", "passed");
    for (const mode_t mode : {0600U, 0400U, 0640U, 0440U})
        EXPECT_EQ(read_secret(write("paced.secret", "named", mode)), "named") << mode;
    for (const mode_t mode : {0644U, 0604U, 0602U, 0660U, 0601U}) {
        const std::string said = read_secret(write("paced.secret", "named", mode));
        EXPECT_NE(said.find("denied"), std::string::npos) << said;
        EXPECT_NE(said.find("chmod 600"), std::string::npos) << said;
    }
}

// systemd shows the reader in a list of access, whose mask looks like a group's permission.
TEST_F(SecretFileTest, ACredentialThatOthersCanReadIsRefusedToo) {
    pass_credential("paced.secret", "passed");
    const std::string credential = folder_.file("credentials/paced.secret");
    ASSERT_EQ(chmod(credential.c_str(), 0440), 0);
    EXPECT_EQ(read_secret(folder_.file("paced.secret")), "passed");
    ASSERT_EQ(chmod(credential.c_str(), 0444), 0);
    EXPECT_NE(read_secret(folder_.file("paced.secret")).find("denied"), std::string::npos);
}

// A pipe would block the start forever.
TEST_F(SecretFileTest, OnlyARegularFileIsRead) {
    ASSERT_EQ(mkfifo(folder_.file("pipe").c_str(), 0600), 0);
    for (const char* name : {"pipe", "credentials"})
        EXPECT_NE(read_secret(folder_.file(name)).find("no regular file"), std::string::npos);
}

}  // namespace
}  // namespace pace::base
