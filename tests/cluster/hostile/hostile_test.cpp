// Hostile client tests: clients ask for more than their share. Each costs only its own user, up to
// a limit.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/sanitized.h"
#include "capi/testing/calls.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/raw_client.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

namespace wire = client::wire;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Cluster::Options one_daemon(std::vector<std::string> flags = {}) {
    return {.nodes = 1, .controller = false, .daemon_flags = std::move(flags)};
}

// Expects that a trainer on this cluster is served as usual.
void expect_served(const Cluster& cluster, const std::string& job) {
    Worker worker({.endpoint = cluster.endpoint(0), .job = job});
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    worker.add_floats(10, 1);
    worker.finish(worker.reduce());
}

// Returns the bytes of trainers' buffers that the process holds, as the kernel tells.
uint64_t buffer_bytes(pid_t pid) {
    uint64_t bytes = 0;
    std::error_code gone;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone)) {
        const std::string target = std::filesystem::read_symlink(entry, gone);
        struct stat status {};
        if (target.find("pace-buffer") != std::string::npos &&
            stat(entry.path().c_str(), &status) == 0)
            bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    }
    return bytes;
}

// Waits until the daemon reports that it keeps no more than `bytes` for all users.
bool comes_down_to(RawClient& observer, uint64_t bytes) {
    for (const Deadline end = soon(); std::chrono::steady_clock::now() < end;) {
        const auto document = nlohmann::json::parse(observer.document());
        if (document["memory"]["buffers"].get<uint64_t>() <= bytes) return true;
    }
    return false;
}

// Joins again and again. The client's rank may still be held by a client whose end the daemon has
// not seen, or by a job that is kept for a moment.
bool joins_soon(RawClient& client, const std::string& job) {
    for (const Deadline end = soon(); std::chrono::steady_clock::now() < end;)
        if (client.join(job)) return true;
    return false;
}

TEST(Hostile, MemoryOfAnotherSizeThanAnnouncedIsNotMapped) {
    Cluster cluster(one_daemon());
    RawClient client(cluster.socket(0));
    ASSERT_TRUE(client.join("sparse")) << client.refusal();
    const base::UniqueFd vast(memfd_create("vast", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(vast.get(), off_t{1} << 46U), 0);
    ASSERT_EQ(fcntl(vast.get(), F_ADD_SEALS, kSeals), 0);
    for (int i = 0; i < 68; ++i) EXPECT_FALSE(client.create_buffer(1, vast.get()));
    EXPECT_NE(client.refusal().find("announced as 4 bytes"), std::string::npos) << client.refusal();
    expect_served(cluster, "another");
}

TEST(Hostile, AModelThatDoesNotFitIsRefusedWithTheSettingsName) {
    Cluster cluster(one_daemon({"--user-bytes-max", "64MiB"}));
    RawClient client(cluster.socket(0));
    for (const uint64_t elements : {uint64_t{1} << 40U, 17 * kMebi}) {
        EXPECT_FALSE(client.join("vast", protocol::Policy::asp, elements));
        EXPECT_NE(client.refusal().find("user_bytes_max"), std::string::npos) << client.refusal();
    }
    expect_served(cluster, "another");
}

// Each of two jobs fits, but both together do not. The daemon finds this when it is about to make
// the shard of the second job.
TEST(Hostile, AShardThatDoesNotFitAnyMoreEndsRequestsAndNothingElse) {
    Cluster cluster(one_daemon({"--user-bytes-max", "64MiB"}));
    const auto serve = [&](const std::string& job) {
        return Worker({.endpoint = cluster.endpoint(0),
                       .job = job,
                       .policy = PACE_POLICY_ASP,
                       .tune = [](AskedSession& options) {
                           options.set(PACE_OPT_SERVER_ELEMENTS, 10 * kMebi);
                       }});
    };
    Worker first = serve("first");
    ASSERT_EQ(first.opened(), PACE_OK) << first.complaint();
    const Worker second = serve("second");
    ASSERT_EQ(second.opened(), PACE_OK) << second.complaint();
    pace_buffer part{};
    void* data = nullptr;
    pace_error error{};
    ASSERT_EQ(pace_buffer_create(second.session(), PACE_F32, 4, nullptr, &part, &data, &error),
              PACE_OK);
    pace_request request{};
    ASSERT_EQ(pace_pull(second.session(), Slices(&part, 1), 1, pull_at(0), &request, &error),
              PACE_OK);
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    EXPECT_EQ(
        pace_request_wait(second.session(), request, Worker::kPatienceMs, nullptr, &info, &error),
        PACE_E_LIMIT);
    EXPECT_NE(std::string(error.message).find("user_bytes_max"), std::string::npos)
        << error.message;
    expect_served(cluster, "another");
}

TEST(Hostile, WhatTheDeadLeaveIsPaidForByTheirUser) {
    Cluster cluster(one_daemon({"--user-bytes-max", "16MiB"}));
    for (int i = 0; i < 200; ++i) {
        RawClient client(cluster.socket(0));
        ASSERT_TRUE(client.join("name-" + std::to_string(i))) << client.refusal();
        ASSERT_TRUE(client.create_buffer(kMebi / 2)) << client.refusal();
        ASSERT_LE(buffer_bytes(cluster.daemon(0).pid()), 16 * kMebi) << "after " << i;
    }
    expect_served(cluster, "afterwards");
}

TEST(Hostile, WhatTheDeadLeaveGoesWhenItsTimeIsOver) {
    Cluster cluster(one_daemon({"--buffers-keep-s", "1"}));
    RawClient observer(cluster.socket(0));
    {
        RawClient client(cluster.socket(0));
        ASSERT_TRUE(client.join("brief")) << client.refusal();
        ASSERT_TRUE(client.create_buffer(kMebi / 2)) << client.refusal();
        EXPECT_GE(buffer_bytes(cluster.daemon(0).pid()), 2 * kMebi);
    }
    EXPECT_TRUE(comes_down_to(observer, 0));
    EXPECT_EQ(buffer_bytes(cluster.daemon(0).pid()), 0U);
}

// Returns the duration of the loop's longest callback, as the daemon reports it.
double longest_ms(RawClient& observer) {
    return nlohmann::json::parse(observer.document()).at("loop").at("longest_ms").get<double>();
}

// Freeing each of these buffers in the loop would take some milliseconds.
TEST(Hostile, BuffersThatGoAllAtOnceHoldNobodyUp) {
    constexpr int kBuffers = 200;
    Cluster cluster(one_daemon({"--buffers-keep-s", "1"}));
    RawClient observer(cluster.socket(0));
    {
        RawClient client(cluster.socket(0));
        ASSERT_TRUE(client.join("many")) << client.refusal();
        for (int i = 0; i < kBuffers; ++i)
            ASSERT_TRUE(client.create_buffer(kMebi)) << client.refusal();
    }
    EXPECT_TRUE(comes_down_to(observer, 0));
    if (!base::kSanitized) {
        EXPECT_LT(longest_ms(observer), 50);
    }
}

TEST(Hostile, ATrainerThatComesBackFindsItsBuffersAndAnotherUserDoesNot) {
    Cluster cluster({.nodes = 1, .controller_flags = {"--abandoned-keep-s", "1"}});
    const auto leave = [&](const char* words) {
        RawClient client(cluster.socket(0));
        ASSERT_TRUE(joins_soon(client, "fashion"));
        const auto buffer = client.create_buffer(1024);
        ASSERT_TRUE(buffer) << client.refusal();
        ASSERT_EQ(pwrite(buffer->fd.get(), words, std::strlen(words), 0),
                  static_cast<ssize_t>(std::strlen(words)));
    };
    leave("a model");
    {
        RawClient back(cluster.socket(0));
        ASSERT_TRUE(joins_soon(back, "fashion"));
        const auto buffer = back.create_buffer(1024);
        ASSERT_TRUE(buffer);
        EXPECT_TRUE(buffer->restored);
    }
    if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
    // The job has no worker any more and is deleted. Then another user takes its name.
    ASSERT_EQ(chmod(cluster.directory().c_str(), 0755), 0);
    ASSERT_EQ(chmod(cluster.socket(0).c_str(), 0666), 0);
    RawClient thief = RawClient::as_user(cluster.socket(0), 1002);
    ASSERT_TRUE(joins_soon(thief, "fashion"));
    const auto buffer = thief.create_buffer(1024);
    ASSERT_TRUE(buffer) << thief.refusal();
    EXPECT_FALSE(buffer->restored);
    char first = 1;
    EXPECT_EQ(pread(buffer->fd.get(), &first, 1, 0), 1);
    EXPECT_EQ(first, 0) << "it reads what another user has left";
}

TEST(Hostile, ConnectionsOfOneUserLeaveOthersTheirs) {
    Cluster cluster(one_daemon({"--user-clients-max", "8"}));
    std::vector<RawClient> idle;
    for (int i = 0; i < 8; ++i) idle.emplace_back(cluster.socket(0));
    for (const RawClient& client : idle) EXPECT_EQ(client.refusal(), "");
    const RawClient last(cluster.socket(0));
    EXPECT_NE(last.refusal().find("user_clients_max"), std::string::npos) << last.refusal();
    if (geteuid() == 0) {
        ASSERT_EQ(chmod(cluster.directory().c_str(), 0755), 0);
        ASSERT_EQ(chmod(cluster.socket(0).c_str(), 0666), 0);
        RawClient another = RawClient::as_user(cluster.socket(0), 1002);
        EXPECT_NE(another.document(), "") << another.refusal();
    }
    idle.pop_back();
    bool welcome = false;
    for (const Deadline end = soon(); !welcome && std::chrono::steady_clock::now() < end;)
        welcome = RawClient(cluster.socket(0)).refusal().empty();
    EXPECT_TRUE(welcome) << "where one has gone, another may come";
}

// Limits the number of open files of this process's children, while this object lives.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t most) {
        EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
        const rlimit few{most, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    }
    ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

  private:
    rlimit before_{};
};

TEST(Hostile, ClientsAreRefusedBeforeTheDescriptorsForPeersAreGone) {
    std::optional<FewDescriptors> few(std::in_place, 96);
    Cluster cluster({.nodes = 2});
    few.reset();
    const auto open = [&](size_t node) {
        return Worker(
            {.endpoint = cluster.endpoint(node), .rank = static_cast<uint32_t>(node), .world = 2});
    };
    Worker first = open(0);
    ASSERT_EQ(first.opened(), PACE_OK) << first.complaint();
    first.add_floats(1000, 1);
    std::vector<RawClient> greedy;
    while (greedy.size() < 100 && (greedy.empty() || greedy.back().refusal().empty()))
        greedy.emplace_back(cluster.socket(0));
    EXPECT_NE(greedy.back().refusal().find("LimitNOFILE"), std::string::npos)
        << greedy.back().refusal();
    pace_request ours = first.broadcast(0);
    for (int i = 0; i < 3; ++i) {
        {
            Worker second = open(1);
            ASSERT_EQ(second.opened(), PACE_OK) << second.complaint();
            second.add_floats(1000, 1);
            const pace_request theirs = second.broadcast(0);
            // A worker that returns is given a model when the other worker calls. The other
            // worker's earlier call may have run alone.
            const Deadline in_time = soon();
            pace_status came = PACE_TIMEOUT;
            while (came == PACE_TIMEOUT && std::chrono::steady_clock::now() < in_time) {
                if (first.wait(ours, 0) != PACE_TIMEOUT) ours = first.broadcast(0);
                came = second.wait(theirs, 10);
            }
            EXPECT_EQ(came, PACE_OK) << second.complaint();
        }
        cluster.daemon(1).signal(SIGKILL);
        ASSERT_TRUE(cluster.daemon(1).wait(soon()));
        cluster.start_daemon(1);
    }
    EXPECT_TRUE(cluster.daemon(0).running());
}

TEST(Hostile, WhoAsksAndDoesNotReadIsEnded) {
    Cluster cluster(one_daemon());
    RawClient client(cluster.socket(0));
    int asked = 0;
    while (asked < 100000 && client.ask_document()) ++asked;
    EXPECT_LT(asked, 100000) << "the daemon takes whatever comes";
    EXPECT_TRUE(client.hung_up());
    EXPECT_NE(cluster.logs().find("questions whose answers"), std::string::npos) << cluster.logs();
    expect_served(cluster, "another");
}

}  // namespace
}  // namespace pace::cluster
