#include "service/controller/shell/status/nodes_json.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "protocol/nccl.h"
#include "service/controller/shell/status/json_times.h"

namespace pace::controller {

namespace {

constexpr size_t kNodesMax = 2048;
constexpr size_t kLinksMax = 4096;
// Bytes of all nodes without their GPUs, and of all GPUs. What a node, or a GPU, takes is
// estimated: so much, and twice its texts, each of whose bytes may become two.
constexpr size_t kNodeRoom = 1'000'000;
constexpr size_t kNodeBytes = 320;
constexpr size_t kGpuRoom = 160'000;
constexpr size_t kGpuBytes = 96;

size_t cost_of(const NodeView& node) {
    return kNodeBytes +
           2 * (node.name.size() + node.host.size() + node.zone.size() + node.release.size());
}

// The first ones, as many as there is room for.
std::span<const NodeView> listed_of(const std::vector<NodeView>& nodes) {
    size_t listed = 0;
    size_t room = kNodeRoom;
    while (listed < std::min(nodes.size(), kNodesMax) && cost_of(nodes[listed]) <= room)
        room -= cost_of(nodes[listed++]);
    return std::span(nodes).first(listed);
}

// Room for GPUs that is left in the document, and how many had none.
struct GpuRoom {
    size_t bytes = kGpuRoom;
    size_t left_out = 0;

    bool take(const GpuReport& gpu) {
        const size_t cost = kGpuBytes + 2 * gpu.name.size();
        const bool fits = cost <= bytes;
        bytes -= fits ? cost : 0;
        left_out += fits ? 0 : 1;
        return fits;
    }
};

nlohmann::json json_of(const GpuReport& gpu) {
    nlohmann::json json = nlohmann::json::object();
    json["name"] = gpu.name;
    json["memory_bytes"] = gpu.memory_bytes;
    json["memory_used_bytes"] =
        gpu.has_used ? nlohmann::json(gpu.used_bytes) : nlohmann::json(nullptr);
    return json;
}

// What a node has, where it tells it. GPUs are listed as far as there is room.
void add_machine(const MachineReport& machine, GpuRoom& room, nlohmann::json& json) {
    json["memory"] = nullptr;
    json["gpus"] = nullptr;
    if (machine == MachineReport{}) return;
    if (machine.memory_bytes != 0)
        json["memory"] = {{"total_bytes", machine.memory_bytes},
                          {"available_bytes", machine.available_bytes}};
    nlohmann::json& gpus = json["gpus"] = nlohmann::json::array();
    for (const GpuReport& gpu : machine.gpus)
        if (room.take(gpu)) gpus.push_back(json_of(gpu));
}

nlohmann::json json_of(const NodeView& node) {
    return {
        {"node", node.node},
        {"name", node.name},
        {"host", node.host},
        {"processors", node.processors},
        {"workers", node.workers},
        {"zone", node.zone},
        {"nccl", protocol::nccl_text(node.nccl)},
        {"status", name_of(node.status)},
        {"silent_ms", milliseconds(node.silent)},
        {"patience_ms", milliseconds(node.patience)},
        {"draining", node.draining},
        {"version", node.release},
        {"unix_ms", node.unix_ms == 0 ? nlohmann::json(nullptr) : nlohmann::json(node.unix_ms)}};
}

nlohmann::json json_of(const LinkView& view) {
    nlohmann::json json = nlohmann::json::object();
    json["from"] = view.from;
    json["to"] = view.to;
    json["latency_us"] = static_cast<double>(view.link.latency_ns) / 1e3;
    json["ns_per_byte"] = view.link.ns_per_byte;
    json["mebibyte_ms"] = mebibyte_ns(view.link) / 1e6;
    return json;
}

void add_links(const StatusView& view, nlohmann::json& json) {
    const size_t links_listed = std::min(view.links.size(), kLinksMax);
    nlohmann::json& links = json["links"] = nlohmann::json::array();
    for (const LinkView& link : std::span(view.links).first(links_listed))
        links.push_back(json_of(link));
    json["links_left_out"] = view.links.size() - links_listed;
    const size_t cuts_listed = std::min(view.cuts.size(), kLinksMax);
    nlohmann::json& cuts = json["cut_links"] = nlohmann::json::array();
    for (const CutView& cut : std::span(view.cuts).first(cuts_listed))
        cuts.push_back({{"nodes", {cut.low, cut.high}}, {"since_ms", milliseconds(cut.since)}});
    json["cut_links_left_out"] = view.cuts.size() - cuts_listed;
}

}  // namespace

void add_nodes(const StatusView& view, nlohmann::json& json) {
    const std::span<const NodeView> listed = listed_of(view.nodes);
    GpuRoom gpu_room;
    nlohmann::json& nodes = json["nodes"] = nlohmann::json::array();
    for (const NodeView& node : listed) {
        nlohmann::json one = json_of(node);
        add_machine(node.machine, gpu_room, one);
        nodes.push_back(std::move(one));
    }
    json["nodes_left_out"] = view.nodes.size() - listed.size();
    json["gpus_left_out"] = gpu_room.left_out;
    add_links(view, json);
}

}  // namespace pace::controller
