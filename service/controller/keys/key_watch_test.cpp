#include "service/controller/keys/key_watch.h"

#include <filesystem>
#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"
#include "service/controller/zmq/curve_keys.h"

namespace pace::controller {
namespace {

class KeyWatchTest : public testing::Test {
  protected:
    void SetUp() override {
        auto loop = base::EventLoop::create();
        ASSERT_TRUE(loop);
        loop_ = std::move(*loop);
    }

    void write(const std::string& file, const std::string& text) {
        std::ofstream(folder_.file(file)) << text;
    }
    static std::string new_key() { return control_zmq::SecretKey::generate()->public_key().z85(); }

    void watch() {
        auto first = AllowedKeys::read(folder_.path(), {});
        ASSERT_TRUE(first);
        watch_.emplace(*loop_, folder_.path(), std::make_shared<AllowedKeys>(std::move(*first)),
                       [this](const base::Result<KeyWatch::Keys>& keys) {
                           ++changes_;
                           if (keys) keys_ = *keys;
                           error_ = keys ? "" : keys.error().message;
                       });
    }
    // Runs the loop until the watch has told of this many changes.
    void await_changes(int count) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(60);
        while (changes_ < count && base::now() < deadline) loop_->turn(true);
        EXPECT_EQ(changes_, count);
    }

    base::testing::TemporaryFolder folder_;
    std::unique_ptr<base::EventLoop> loop_;
    std::optional<KeyWatch> watch_;
    int changes_ = 0;
    KeyWatch::Keys keys_;
    std::string error_;
};

TEST_F(KeyWatchTest, KeysThatComeAndGoAreNoticed) {
    const std::string first = new_key();
    const std::string second = new_key();
    write("node-1.public", first);
    watch();
    write("node-2.public", second);
    await_changes(1);
    EXPECT_FALSE(keys_->refusal(second));
    std::filesystem::remove(folder_.file("node-1.public"));
    await_changes(2);
    EXPECT_TRUE(keys_->refusal(first));
    EXPECT_FALSE(keys_->refusal(second));
}

TEST_F(KeyWatchTest, AFolderThatVanishesIsToldOnceAndReadAgainWhenItIsBack) {
    write("node-1.public", new_key());
    watch();
    std::filesystem::rename(folder_.path(), folder_.path() + ".away");
    await_changes(1);
    EXPECT_NE(error_.find("curve_allowed_dir"), std::string::npos);
    std::filesystem::rename(folder_.path() + ".away", folder_.path());
    await_changes(2);
    EXPECT_EQ(error_, "");
    EXPECT_EQ(keys_->size(), 1U);
}

TEST_F(KeyWatchTest, AWatchMayEndWhileItLooks) {
    write("node-1.public", new_key());
    watch();
    const base::TimePoint due = base::now() + KeyWatch::kInterval;
    while (base::now() < due) loop_->turn(true);
    watch_.reset();
    write("node-1.public", new_key());
    loop_->turn(false);
    EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace pace::controller
