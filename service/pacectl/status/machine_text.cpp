#include "service/pacectl/status/machine_text.h"

#include <algorithm>

#include "service/pacectl/columns/columns.h"

namespace pace::pacectl {

namespace {

// " (12 %)" of the memory of those GPUs of which it is known is in use; "" if it is of none.
std::string used_text(const Json& gpus) {
    double used = 0;
    double all = 0;
    for (const Json& gpu : gpus) {
        if (!member(gpu, "memory_used_bytes").is_number()) continue;
        used += number(gpu, "memory_used_bytes");
        all += number(gpu, "memory_bytes");
    }
    return all > 0 ? fmt::format(" ({:.0f} %)", 100 * used / all) : std::string();
}

// "8 NVIDIA H100"; "2 GPUs" where they have several names.
std::string names_text(const Json& gpus) {
    const std::string name = text(gpus[0], "name");
    const bool is_one_kind = std::all_of(
        gpus.begin(), gpus.end(), [&](const Json& gpu) { return text(gpu, "name") == name; });
    return fmt::format("{} {}", gpus.size(), is_one_kind ? name : "GPUs");
}

std::string gpus_by_name(const Json& node) {
    const Json& gpus = list(node, "gpus");
    if (gpus.empty()) return member(node, "gpus").is_array() ? "none" : "-";
    return names_text(gpus) + used_text(gpus);
}

}  // namespace

bool tells_machines(const Json& status) {
    const Json& nodes = list(status, "nodes");
    return std::any_of(nodes.begin(), nodes.end(), [](const Json& node) {
        return member(node, "memory").is_object() || !list(node, "gpus").empty();
    });
}

std::string memory_text(const Json& node) {
    const Json& memory = member(node, "memory");
    if (!memory.is_object()) return "-";
    const double total = number(memory, "total_bytes");
    const double available = std::min(number(memory, "available_bytes"), total);
    return fmt::format("{} of {}", bytes_text(total - available), bytes_text(total));
}

std::string gpus_text(const Json& node) {
    const Json& gpus = member(node, "gpus");
    if (!gpus.is_array()) return "-";
    return fmt::format("{}{}", gpus.size(), used_text(gpus));
}

std::string machines_text(const Json& status, size_t limit) {
    if (!tells_machines(status)) return {};
    const Json& nodes = list(status, "nodes");
    Columns columns({"NODE", ">MEMORY IN USE", "GPUS"});
    const size_t shown = std::min(nodes.size(), limit);
    for (size_t i = 0; i < shown; ++i)
        columns.add({text(nodes[i], "name"), memory_text(nodes[i]), gpus_by_name(nodes[i])});
    return "\n" + columns.text("") +
           rows_left_out(shown, nodes.size(), count(status, "nodes_left_out"), "nodes");
}

}  // namespace pace::pacectl
