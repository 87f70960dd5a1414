#include "service/pacectl/status/machine_text.h"

#include <gtest/gtest.h>

#include "service/pacectl/columns/columns.h"
#include "service/pacectl/status/status_text.h"
#include "service/pacectl/top/top_view.h"

namespace pace::pacectl {
namespace {

// A node with GPUs, one without, one whose daemon does not tell, and one with unlike GPUs, of which
// none is open.
Json cluster() {
    return Json::parse(R"({"nodes": [
      {"name": "node-1.rack-1", "status": "alive", "workers": 8, "silent_ms": 999.9, "zone": "rack-1",
       "host": "node-1.rack-1.example",
       "memory": {"total_bytes": 2199023255552, "available_bytes": 1649267441664},
       "gpus": [
         {"name": "NVIDIA H100 80GB HBM3", "memory_bytes": 85899345920, "memory_used_bytes": 21474836480},
         {"name": "NVIDIA H100 80GB HBM3", "memory_bytes": 85899345920, "memory_used_bytes": null}]},
      {"name": "b", "memory": {"total_bytes": 1073741824, "available_bytes": 2147483648}, "gpus": []},
      {"name": "c", "memory": null, "gpus": null},
      {"name": "d", "memory": null, "gpus": [
         {"name": "A", "memory_bytes": 1024, "memory_used_bytes": null},
         {"name": "B", "memory_bytes": 1024, "memory_used_bytes": null}]}],
      "nodes_left_out": 3})");
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
}

TEST(MachineText, TellsMemoryInUseAndGpus) {
    const Json status = cluster();
    const Json& nodes = status["nodes"];
    EXPECT_EQ(memory_text(nodes[0]), "512.0 GiB of 2.0 TiB");
    EXPECT_EQ(memory_text(nodes[1]), "0 B of 1.0 GiB") << "more is free than there is";
    EXPECT_EQ(memory_text(nodes[2]), "-");
    EXPECT_EQ(gpus_text(nodes[0]), "2 (25 %)");
    EXPECT_EQ(gpus_text(nodes[1]), "0");
    EXPECT_EQ(gpus_text(nodes[2]), "-");
    EXPECT_EQ(gpus_text(nodes[3]), "2");
}

TEST(MachineText, StatusHasALineForEachNodeWithin80Columns) {
    const std::vector<std::string> lines = lines_of(machines_text(cluster(), 80));
    ASSERT_EQ(lines.size(), 7U);
    EXPECT_EQ(lines[1], "NODE                  MEMORY IN USE  GPUS");
    EXPECT_EQ(lines[2], "node-1.rack-1  512.0 GiB of 2.0 TiB  2 NVIDIA H100 80GB HBM3 (25 %)");
    for (const std::string& line : lines) EXPECT_LE(shown_width(line), 80U) << line;
    EXPECT_EQ(lines[3], "b                    0 B of 1.0 GiB  none");
    EXPECT_EQ(lines[4], "c                                 -  -");
    EXPECT_EQ(lines[5], "d                                 -  2 GPUs");
    EXPECT_EQ(lines[6], "  … and 3 more nodes");
    EXPECT_NE(status_text(cluster(), {}).find(lines[2]), std::string::npos);
    EXPECT_EQ(lines_of(machines_text(cluster(), 1)).size(), 4U);
}

TEST(MachineText, AnOlderControllersNodesHaveNone) {
    Json status = cluster();
    for (Json& node : status["nodes"]) {
        node.erase("memory");
        node.erase("gpus");
    }
    EXPECT_FALSE(tells_machines(status));
    EXPECT_EQ(machines_text(status, 80), "");
    EXPECT_EQ(memory_text(status["nodes"][0]), "-");
    EXPECT_EQ(gpus_text(status["nodes"][0]), "-");
}

TEST(MachineText, TopHasItInFrontOfTheHostWithin80Columns) {
    Json status = cluster();
    status["jobs"] = Json::array();
    std::string line;
    for (const StyledLine& shown : top_view(status, {}, "").body)
        if (shown.text.starts_with("node-1")) line = shown.text;
    const size_t at = line.find("512.0 GiB of 2.0 TiB  2 (25 %)");
    ASSERT_NE(at, std::string::npos) << line;
    EXPECT_LE(at + 30, 80U) << line;
}

}  // namespace
}  // namespace pace::pacectl
