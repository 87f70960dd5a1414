#include "service/controller/zmq/curve_keys.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace pace::control_zmq {
namespace {

class CurveKeys : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "pace-keys-XXXXXX");
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string folder_;
};

TEST_F(CurveKeys, APairComesBackFromItsFiles) {
    const std::string prefix = folder_ + "/controller";
    const auto public_key = generate_key_pair(prefix);
    ASSERT_TRUE(public_key) << public_key.error().message;
    const auto secret = SecretKey::read(prefix + ".secret");
    const auto read = PublicKey::read(prefix + ".public");
    ASSERT_TRUE(secret && read);
    EXPECT_EQ(*read, *public_key);
    EXPECT_EQ(secret->public_key(), *public_key);
}

TEST_F(CurveKeys, ASecretIsForItsOwnerOnly) {
    const std::string prefix = folder_ + "/controller";
    ASSERT_TRUE(generate_key_pair(prefix));
    struct stat status {};
    ASSERT_EQ(stat((prefix + ".secret").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);

    ASSERT_EQ(chmod((prefix + ".secret").c_str(), 0644), 0);
    const auto refused = SecretKey::read(prefix + ".secret");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::denied);
    EXPECT_NE(refused.error().message.find("chmod 600"), std::string::npos);
}

// The services read public keys, and are other users than root, who makes keys.
TEST_F(CurveKeys, APublicKeyIsForEverybodyWhateverTheMaskIs) {
    const mode_t before = umask(0077);
    const auto made = generate_key_pair(folder_ + "/controller");
    umask(before);
    ASSERT_TRUE(made) << made.error().message;
    struct stat status {};
    ASSERT_EQ(stat((folder_ + "/controller.public").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0644U);
}

TEST_F(CurveKeys, ASecretIsReadFromSystemdsCredential) {
    ASSERT_TRUE(generate_key_pair(folder_ + "/paced"));
    setenv("CREDENTIALS_DIRECTORY", folder_.c_str(), 1);
    const auto secret = SecretKey::read("/nonexistent/paced.secret");
    unsetenv("CREDENTIALS_DIRECTORY");
    ASSERT_TRUE(secret) << secret.error().message;
    EXPECT_EQ(secret->public_key(), *PublicKey::read(folder_ + "/paced.public"));
}

TEST_F(CurveKeys, KeysAreNeverReplaced) {
    const std::string prefix = folder_ + "/controller";
    ASSERT_TRUE(generate_key_pair(prefix));
    const auto again = generate_key_pair(prefix);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, base::ErrorKind::taken);
}

TEST_F(CurveKeys, ABadKeyIsNamedWithItsFile) {
    const std::string path = folder_ + "/short.public";
    std::ofstream(path) << "tooshort\n";
    const auto refused = PublicKey::read(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::invalid);
    EXPECT_NE(refused.error().message.find(path), std::string::npos);
    EXPECT_FALSE(PublicKey::read(folder_ + "/none.public"));
    EXPECT_FALSE(PublicKey::parse(std::string(40, '"')));
}

}  // namespace
}  // namespace pace::control_zmq
