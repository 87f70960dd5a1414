#include "service/controller/keys/allowed_keys.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"
#include "service/controller/zmq/curve_keys.h"

namespace pace::controller {
namespace {

class AllowedKeysTest : public testing::Test {
  protected:
    // Makes a key and writes it as the file `name`.public. Returns the key.
    std::string make(const std::string& name) {
        const auto secret = control_zmq::SecretKey::generate();
        const std::string key = secret->public_key().z85();
        write(name + ".public", key + "\n");
        return key;
    }
    void write(const std::string& file, const std::string& text) {
        std::ofstream(folder_.file(file)) << text;
    }
    AllowedKeys read(const AllowedKeys& earlier = {}) {
        auto keys = AllowedKeys::read(folder_.path(), earlier);
        EXPECT_TRUE(keys);
        return keys ? std::move(*keys) : AllowedKeys();
    }

    base::testing::TemporaryFolder folder_;
};

TEST_F(AllowedKeysTest, AKeyIsTheOneOfTheNodeThatItsFileNames) {
    const std::string first = make("node-1");
    const std::string second = make("node-2");
    const AllowedKeys keys = read();
    EXPECT_EQ(keys.size(), 2U);
    EXPECT_TRUE(keys.problems().empty());
    EXPECT_FALSE(keys.refusal(first));
    EXPECT_FALSE(keys.refusal_of_name(first, "node-1"));
    const auto refusal = keys.refusal_of_name(second, "node-1");
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->kind, base::ErrorKind::denied);
    EXPECT_NE(refusal->message.find("node-2.public"), std::string::npos);
    EXPECT_TRUE(keys.refusal("another key"));
    EXPECT_TRUE(keys.refusal(""));
    EXPECT_TRUE(keys.refusal_of_name("another key", "node-1"));
}

TEST_F(AllowedKeysTest, ASharedKeyServesEveryNameWithoutAKeyOfItsOwn) {
    make("node-1");
    const std::string shared = make("@rack");
    const AllowedKeys keys = read();
    EXPECT_FALSE(keys.refusal_of_name(shared, "node-7"));
    EXPECT_TRUE(keys.refusal_of_name(shared, "node-1"));
}

TEST_F(AllowedKeysTest, AFileSaysWhichUsersANodeMayBring) {
    const std::string any = make("any");
    const std::string some = make("some");
    const std::string nobody = make("nobody");
    write("some.users", "# of the group\n1000-1999\r\n\n  2500  \n");
    write("nobody.users", "");
    write("absent.users", "1\n");
    const AllowedKeys keys = read();
    EXPECT_TRUE(keys.problems().empty());
    EXPECT_TRUE(keys.may_bring(any, 0));
    EXPECT_TRUE(keys.may_bring(some, 1000));
    EXPECT_TRUE(keys.may_bring(some, 1999));
    EXPECT_TRUE(keys.may_bring(some, 2500));
    EXPECT_FALSE(keys.may_bring(some, 0));
    EXPECT_FALSE(keys.may_bring(some, 2000));
    EXPECT_FALSE(keys.may_bring(nobody, 1000));
    EXPECT_FALSE(keys.may_bring("another key", 1000));
}

TEST_F(AllowedKeysTest, AListOfUsersThatCannotBeReadIsAProblemAndLetsNobodyIn) {
    for (const char* text : {"ann", "-1", "5-", "9-5", "4294967296", "1 2", "0x10"}) {
        const auto users = parse_users(std::string("1\n") + text + "\n");
        ASSERT_FALSE(users) << text;
        EXPECT_NE(users.error().message.find("line 2"), std::string::npos);
    }
    const std::string key = make("node-1");
    write("node-1.users", "ann\n");
    const AllowedKeys keys = read();
    ASSERT_EQ(keys.problems().size(), 1U);
    EXPECT_NE(keys.problems()[0].find("node-1.users: line 1"), std::string::npos);
    EXPECT_FALSE(keys.may_bring(key, 1000));
    EXPECT_FALSE(keys.refusal(key)) << "the daemon itself may attach";
}

TEST_F(AllowedKeysTest, AFileThatIsHalfWrittenCountsAsItWasBefore) {
    const std::string key = make("node-1");
    write("node-1.users", "1000\n");
    const AllowedKeys before = read();
    write("node-1.public", key.substr(0, 20));
    write("node-1.users", "10-");
    const AllowedKeys after = read(before);
    EXPECT_EQ(after.problems().size(), 2U);
    EXPECT_FALSE(after.refusal(key));
    EXPECT_TRUE(after.may_bring(key, 1000));
    EXPECT_FALSE(after.may_bring(key, 10));
    std::filesystem::remove(folder_.file("node-1.public"));
    EXPECT_TRUE(read(after).refusal(key)) << "a file that is gone takes its key away";
}

TEST_F(AllowedKeysTest, WhatIsNoKeyFileIsAProblemAndOthersCount) {
    const std::string key = make("node-1");
    write("a node.public", key);
    write("copy.public", key);  // sorts before node-1
    write("notes.txt", "not looked at");
    mkfifo(folder_.file("pipe.public").c_str(), 0600);
    write("long.public", std::string(10'000, 'x'));
    const AllowedKeys keys = read();
    EXPECT_EQ(keys.problems().size(), 4U);
    ASSERT_NE(keys.find(key), nullptr);
    EXPECT_EQ(keys.find(key)->name, "copy") << "a key belongs to the first file that has it";
}

TEST_F(AllowedKeysTest, AFolderThatIsNotThereIsAnError) {
    const auto keys = AllowedKeys::read(folder_.path() + "/absent", {});
    ASSERT_FALSE(keys);
    EXPECT_NE(keys.error().message.find("curve_allowed_dir"), std::string::npos);
}

}  // namespace
}  // namespace pace::controller
