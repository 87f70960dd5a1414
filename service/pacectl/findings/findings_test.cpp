#include "service/pacectl/findings/findings.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

Facts healthy() {
    Facts facts;
    facts.socket = {.path = "/run/pace/paced.sock",
                    .exists = true,
                    .is_socket = true,
                    .may_connect = true,
                    .mode = 0660,
                    .gid = 999,
                    .owner = "paced",
                    .group = "pace",
                    .looked_at = ""};
    facts.daemon.version = PACE_VERSION;
    facts.daemon.document =
        Json{{"pid", 7U},
             {"controller", {{"endpoint", "tcp://h:1"}, {"reachable", true}, {"embedded", false}}},
             {"data", {{"transport", "ucx"}, {"transports", "tcp"}, {"address", "10.0.0.7:4242"}}},
             {"limits", {{"clients_max", 256U}, {"client_bytes_max", 1000U}}},
             {"clients", {{{"pid", 9U}, {"bytes", 10U}}}}};
    facts.machine.memlock_bytes = uint64_t{1} << 30U;
    facts.machine.shared_memory_bytes = uint64_t{1} << 30U;
    facts.machine.memory_available_bytes = uint64_t{1} << 34U;
    facts.machine.daemons = {7};
    facts.machine.ucx_version = "1.13.1";
    facts.machine.zmq_version = "4.3.4";
    return facts;
}

// Returns the worst verdict on a subject; checks that every finding that is not ok has advice.
Verdict verdict_on(const Facts& facts, std::string_view subject) {
    Verdict worst = Verdict::ok;
    for (const Finding& finding : judge(facts)) {
        EXPECT_EQ(finding.verdict == Verdict::ok, finding.advice.empty()) << finding.what;
        if (finding.subject == subject) worst = std::max(worst, finding.verdict);
    }
    return worst;
}

TEST(Findings, AHealthyMachineHasNone) {
    const auto findings = judge(healthy());
    EXPECT_FALSE(any_failed(findings));
    EXPECT_NE(findings_text(findings).find("all is well"), std::string::npos)
        << findings_text(findings);
}

TEST(Findings, GpusAreToldOfAndWhatIsWrongWithThem) {
    Facts facts = healthy();
    Json gpu = {{"id", "GPU-1"},  {"name", "H100"},
                {"bytes", 1000U}, {"compute_capability", "9.0"},
                {"open", true},   {"kernels", "CUDA 13.0"}};
    const auto with = [&](const Json& one) {
        (*facts.daemon.document)["gpus"] = {{"devices", {one}}, {"driver_cuda", "13.0"}};
        return verdict_on(facts, "GPUs");
    };
    EXPECT_EQ(with(gpu), Verdict::ok);
    EXPECT_NE(findings_text(judge(facts)).find("H100 GPU-1"), std::string::npos);
    gpu["kernels"] = "there is no plug-in /x.so";
    EXPECT_EQ(with(gpu), Verdict::warn);
    gpu["kernels"] = "CUDA 13.0";
    gpu["shared_with"] = "process 7 serves GPU-1 already";
    EXPECT_EQ(with(gpu), Verdict::warn);
    gpu["shared_with"] = "";
    gpu["unusable"] = "GPU-1 is in the compute mode X; set another mode (nvidia-smi)";
    EXPECT_EQ(with(gpu), Verdict::warn);
    gpu["unusable"] = "";
    gpu["kernels"] = "the plug-in is built with CUDA 99.0; install a driver of CUDA 99";
    EXPECT_EQ(with(gpu), Verdict::warn);
    const std::string advised = findings_text(judge(facts));
    EXPECT_NE(advised.find("install a driver of CUDA 99"), std::string::npos) << advised;
    EXPECT_EQ(advised.find("99.0; install"), std::string::npos) << advised;
    (*facts.daemon.document)["gpus"] = {{"absent", "no driver"}};
    EXPECT_EQ(verdict_on(facts, "GPUs"), Verdict::ok);
    EXPECT_NE(findings_text(judge(facts)).find("none is used: no driver"), std::string::npos);
}

TEST(Findings, TheNcclIsNamedOrWhyNoneIsUsed) {
    Facts facts = healthy();
    Json& gpus = (*facts.daemon.document)["gpus"] = {
        {"devices", {{{"id", "GPU-1"}}}},
        {"between_nodes", "by NCCL"},
        {"nccl", "2.21.5"},
    };
    EXPECT_NE(findings_text(judge(facts)).find("NCCL 2.21.5\n"), std::string::npos);
    gpus.erase("nccl");
    gpus["nccl_absent"] = "the setting `nccl` is off";
    EXPECT_NE(findings_text(judge(facts)).find("no NCCL is used: the setting `nccl` is off\n"),
              std::string::npos);
    EXPECT_EQ(verdict_on(facts, "GPUs"), Verdict::ok);
}

TEST(Findings, ASocketThatIsNotThereOrClosedIsAFailure) {
    Facts facts = healthy();
    facts.socket.may_connect = false;
    EXPECT_EQ(verdict_on(facts, "socket"), Verdict::fail);
    facts.socket.is_socket = false;
    EXPECT_EQ(verdict_on(facts, "socket"), Verdict::fail);
    facts.socket = SocketFacts{};
    facts.socket.looked_at = "/x: No such file or directory";
    EXPECT_EQ(verdict_on(facts, "socket"), Verdict::fail);
    facts = healthy();
    facts.socket.mode = 0666;
    EXPECT_EQ(verdict_on(facts, "socket"), Verdict::warn);
}

TEST(Findings, ADaemonThatDoesNotAnswerIsAFailureAndAnotherVersionAWarning) {
    Facts facts = healthy();
    facts.daemon.version = "0.0.9";
    EXPECT_EQ(verdict_on(facts, "daemon"), Verdict::warn);
    facts.daemon = {};
    facts.daemon.refused = base::Error{base::ErrorKind::unavailable, "nobody listens"};
    EXPECT_EQ(verdict_on(facts, "daemon"), Verdict::fail);
    facts = healthy();
    facts.daemon.document.reset();
    facts.daemon.document_error = base::Error{base::ErrorKind::corrupt, "no JSON"};
    EXPECT_EQ(verdict_on(facts, "daemon"), Verdict::warn);
}

TEST(Findings, AnUnreachableControllerIsAFailureAndLoopbackDataAWarning) {
    Facts facts = healthy();
    (*facts.daemon.document)["controller"]["reachable"] = false;
    EXPECT_EQ(verdict_on(facts, "controller"), Verdict::fail);
    (*facts.daemon.document)["controller_problem"] = "no controller at tcp://h:1: it asks for keys";
    const auto findings = judge(facts);
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.subject == "controller" &&
               finding.what.find("it asks for keys") != std::string::npos;
    }));
    facts.daemon.document->erase("controller_problem");
    (*facts.daemon.document)["controller"] = {{"embedded", true}};
    EXPECT_EQ(verdict_on(facts, "controller"), Verdict::ok);
    facts = healthy();
    (*facts.daemon.document)["data"]["address"] = "127.0.0.1:0";
    EXPECT_EQ(verdict_on(facts, "data"), Verdict::warn);
    (*facts.daemon.document)["data"] = {{"transport", "tcp"}, {"interface", "lo"}};
    EXPECT_EQ(verdict_on(facts, "data"), Verdict::warn);
    (*facts.daemon.document)["controller"] = {{"embedded", true}};
    EXPECT_EQ(verdict_on(facts, "data"), Verdict::ok);
}

TEST(Findings, ScarceResourcesAreWarnings) {
    Facts facts = healthy();
    Json& transport = (*facts.daemon.document)["data"]["transports"];
    facts.machine.memlock_bytes = 65536;
    EXPECT_EQ(verdict_on(facts, "locked memory"), Verdict::ok) << "TCP locks nothing";
    transport = nullptr;
    EXPECT_EQ(verdict_on(facts, "locked memory"), Verdict::warn) << "an older one does not say";
    transport = "rc,tcp";
    EXPECT_EQ(verdict_on(facts, "locked memory"), Verdict::warn);
    facts.machine.shared_memory_bytes = uint64_t{64} << 20U;
    EXPECT_EQ(verdict_on(facts, "shared memory"), Verdict::ok) << "buffers are memfds";
    transport = "shm,tcp";
    EXPECT_EQ(verdict_on(facts, "shared memory"), Verdict::warn);
    facts.machine.shared_memory_bytes.reset();
    EXPECT_EQ(verdict_on(facts, "shared memory"), Verdict::warn);
    transport = "tcp";
    EXPECT_EQ(verdict_on(facts, "shared memory"), Verdict::ok);
    (*facts.daemon.document)["gpus"] = {{"nccl", "2.21.5"}};
    EXPECT_EQ(verdict_on(facts, "shared memory"), Verdict::warn) << "NCCL has its queues there";
    (*facts.daemon.document)["limits"]["memory_max"] = 2000U;
    facts.machine.daemon_memory_max_bytes = 3000;
    EXPECT_EQ(verdict_on(facts, "memory"), Verdict::ok);
    facts.machine.daemon_memory_max_bytes = 1000;
    EXPECT_EQ(verdict_on(facts, "memory"), Verdict::warn) << "the kernel would end it";
    facts.machine.clock_is_synchronized = false;
    EXPECT_EQ(verdict_on(facts, "clock"), Verdict::warn);
    facts.machine.daemons = {7, 8};
    EXPECT_EQ(verdict_on(facts, "processes"), Verdict::warn);
    (*facts.daemon.document)["clients"][0]["bytes"] = 950U;
    EXPECT_EQ(verdict_on(facts, "clients"), Verdict::warn);
    EXPECT_FALSE(any_failed(judge(facts)));
    facts.machine.ucx_version.clear();
    EXPECT_TRUE(any_failed(judge(facts)));
    facts = healthy();
    (*facts.daemon.document)["limits"]["user_bytes_max"] = 1000U;
    (*facts.daemon.document)["users"] = {{{"uid", 1001U}, {"bytes", 899U}, {"clients", 1U}}};
    EXPECT_EQ(verdict_on(facts, "clients"), Verdict::ok);
    (*facts.daemon.document)["users"][0]["bytes"] = 950U;
    EXPECT_EQ(verdict_on(facts, "clients"), Verdict::warn) << "whoever of its trainers holds it";
}

TEST(Facts, LimitsAreReadAsTheKernelWritesThem) {
    constexpr std::string_view kLimits =
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         8388608              unlimited            bytes     \n"
        "Max open files            unlimited            unlimited            files     \n";
    EXPECT_EQ(limit_in(kLimits, "Max locked memory"), 8388608U);
    EXPECT_EQ(limit_in(kLimits, "Max open files"), std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(limit_in(kLimits, "Max realtime"), std::nullopt);
    EXPECT_EQ(limit_in("Max open files", "Max open files"), std::nullopt);
}

TEST(Facts, AreGatheredWithoutADaemon) {
    const Facts facts =
        gather_facts({.kind = client::EndpointKind::unix_socket, .path = "/nonexistent/socket"},
                     "/nonexistent/keys");
    EXPECT_FALSE(facts.socket.exists);
    EXPECT_TRUE(facts.daemon.refused);
    EXPECT_TRUE(facts.machine.memlock_bytes);
    EXPECT_TRUE(any_failed(judge(facts)));
}

}  // namespace
}  // namespace pace::pacectl
