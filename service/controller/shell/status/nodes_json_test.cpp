#include "service/controller/shell/status/nodes_json.h"

#include <gtest/gtest.h>

#include "protocol/nccl.h"
#include "protocol/options/limits.h"

namespace pace::controller {
namespace {

using Json = nlohmann::json;

Json nodes_of(const StatusView& view) {
    Json json = Json::object();
    add_nodes(view, json);
    return json;
}

TEST(NodesJson, TellsMemoryAndGpus) {
    StatusView view;
    view.nodes.resize(2);
    view.nodes[0].machine = {
        .memory_bytes = 64,
        .available_bytes = 16,
        .gpus = {{.name = "H100", .memory_bytes = 80, .has_used = true, .used_bytes = 0},
                 {.name = "H100", .memory_bytes = 80}}};
    view.nodes[1].machine = {.memory_bytes = 8, .available_bytes = 4};
    const Json json = nodes_of(view);
    EXPECT_EQ(json["nodes"][0]["memory"], Json({{"total_bytes", 64}, {"available_bytes", 16}}));
    EXPECT_EQ(json["nodes"][0]["gpus"],
              Json({{{"name", "H100"}, {"memory_bytes", 80}, {"memory_used_bytes", 0}},
                    {{"name", "H100"}, {"memory_bytes", 80}, {"memory_used_bytes", nullptr}}}));
    EXPECT_EQ(json["nodes"][1]["gpus"], Json::array()) << "it has none";
    EXPECT_EQ(json["gpus_left_out"], 0);
}

TEST(NodesJson, WhatADaemonDoesNotSayIsNull) {
    StatusView view;
    view.nodes.resize(2);
    view.nodes[1].machine.gpus.resize(1);
    const Json json = nodes_of(view);
    EXPECT_TRUE(json["nodes"][0]["memory"].is_null());
    EXPECT_TRUE(json["nodes"][0]["gpus"].is_null());
    EXPECT_TRUE(json["nodes"][1]["memory"].is_null());
    EXPECT_EQ(json["nodes"][1]["gpus"].size(), 1U);
}

TEST(NodesJson, GpusAreListedAsFarAsThereIsRoom) {
    StatusView view;
    view.nodes.resize(200);
    const GpuReport gpu{.name = std::string(protocol::kGpuNameBytesMax, '"')};
    for (NodeView& node : view.nodes) node.machine.gpus.assign(8, gpu);
    const Json json = nodes_of(view);
    size_t listed = 0;
    for (const Json& node : json["nodes"]) listed += node["gpus"].size();
    EXPECT_EQ(json["nodes"].size(), 200U);
    EXPECT_EQ(json["nodes"][0]["gpus"].size(), 8U);
    EXPECT_EQ(json["nodes"][199]["gpus"].size(), 0U);
    EXPECT_EQ(json["gpus_left_out"], 8 * 200 - listed);
}

// As large as texts and numbers can be, escaped.
TEST(NodesJson, TakesNoMoreBytesThanEstimated) {
    StatusView view;
    NodeView& node = view.nodes.emplace_back();
    node.node = node.processors = node.workers = ~uint32_t{0};
    node.name = node.zone = std::string(63, 'n');
    node.host = std::string(255, '"');
    node.release = std::string(31, '"');
    node.nccl = protocol::kNcclMax;
    node.status = NodeStatus::suspected;
    node.silent = node.patience = base::Duration(1'234'567'891'234'567);
    node.machine.memory_bytes = node.machine.available_bytes = ~uint64_t{0};
    view.nodes.assign(2048, node);
    const Json without_gpus = nodes_of(view);
    EXPECT_LT(without_gpus["nodes"].dump().size(), 1'000'000U);
    EXPECT_GT(without_gpus["nodes"].size(), 800U);
    EXPECT_EQ(without_gpus["nodes_left_out"], 2048 - without_gpus["nodes"].size());
    view.nodes[0].machine.gpus.assign(
        2000, {std::string(protocol::kGpuNameBytesMax, '"'), ~uint64_t{0}, true, ~uint64_t{0}});
    EXPECT_LT(nodes_of(view)["nodes"][0]["gpus"].dump().size(), 160'000U);
}

TEST(NodesJson, ClustersOfTwoThousandOrdinaryNodesAreListedWhole) {
    StatusView view;
    NodeView& node = view.nodes.emplace_back();
    node.name = node.host = "node-1234.example";
    node.zone = "rack-12";
    node.release = "1.0.0";
    node.machine.memory_bytes = uint64_t{1} << 40U;
    view.nodes.assign(2048, node);
    EXPECT_EQ(nodes_of(view)["nodes_left_out"], 0);
}

}  // namespace
}  // namespace pace::controller
