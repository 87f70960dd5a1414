#include "service/pacectl/status/daemon_text.h"

#include "service/pacectl/columns/columns.h"
#include "service/pacectl/findings/gpu_findings.h"

namespace pace::pacectl {

namespace {

std::string controller_text(const Json& controller) {
    if (!controller.is_object()) return "-";
    if (truth(controller, "embedded")) return "in the daemon's own process";
    return fmt::format("{} ({})", text(controller, "endpoint"),
                       truth(controller, "reachable") ? "answers" : "does not answer");
}

std::string data_text(const Json& daemon) {
    if (truth(member(daemon, "controller"), "embedded")) return "stays on this machine";
    const Json& data = member(daemon, "data");
    return fmt::format("over {} at {}", text(data, "transport"),
                       text(data, "address", text(data, "interface")));
}

std::string pairs_text(std::string_view title, const Json& object) {
    if (!object.is_object() || object.empty()) return {};
    Columns columns({std::string(title), ""});
    for (const auto& [key, value] : object.items()) {
        const bool is_bytes = key.find("bytes") != std::string::npos && value.is_number();
        columns.add(
            {printable(key), is_bytes ? bytes_text(value.get<double>()) : text(object, key)});
    }
    return "\n" + columns.text("");
}

std::string clients_text(const Json& daemon) {
    Columns clients({">PID", ">UID", "JOB", ">RANK", ">MEMORY", ">BUFFERS", ">IN FLIGHT"});
    for (const Json& client : list(daemon, "clients"))
        clients.add({text(client, "pid"), text(client, "uid"), text(client, "job"),
                     text(client, "rank"), bytes_text(number(client, "bytes")),
                     text(client, "buffers"), text(client, "requests")});
    return clients.empty() ? "\nno client is connected\n" : "\n" + clients.text("");
}

std::string users_text(const Json& daemon) {
    Columns users({">UID", ">MEMORY", ">BUFFERS", ">CONNECTIONS", ">OPEN FILES"});
    for (const Json& user : list(daemon, "users"))
        users.add({text(user, "uid"), bytes_text(number(user, "bytes")), text(user, "buffers"),
                   text(user, "clients"), text(user, "descriptors")});
    return users.empty() ? std::string() : "\n" + users.text("");
}

std::string shards_text(const Json& daemon) {
    Columns shards({"JOB", ">SHARD", ">ELEMENTS", ">MODEL", ">LIVE VERSIONS", ">THEIR MEMORY",
                    ">WAITING UPDATES"});
    for (const Json& shard : list(daemon, "shards"))
        shards.add({text(shard, "job"), text(shard, "shard"), text(shard, "elements"),
                    bytes_text(number(shard, "model_bytes")), text(shard, "live_versions"),
                    bytes_text(number(shard, "versions_bytes")),
                    bytes_text(number(shard, "held_bytes"))});
    return shards.empty() ? std::string() : "\n" + shards.text("");
}

std::string devices_text(const Json& on_node) {
    Columns gpus({"GPU", "NAME", ">MEMORY", ">FREE", "KERNELS"});
    for (const Json& gpu : list(on_node, "devices"))
        gpus.add({text(gpu, "id"), text(gpu, "name"), bytes_text(number(gpu, "bytes")),
                  truth(gpu, "open") ? bytes_text(number(gpu, "free_bytes")) : "not open",
                  text(gpu, "kernels")});
    if (gpus.empty()) return {};
    return fmt::format("\n{}between nodes: {}\n{}\n", gpus.text(""), text(on_node, "between_nodes"),
                       nccl_line(on_node));
}

}  // namespace

std::string waits_text(const Json& daemon, std::string_view job) {
    Columns waits({"JOB", ">RANK", "CALL", ">WAITED", "FOR"});
    for (const Json& wait : list(daemon, "waits")) {
        if (!job.empty() && text(wait, "job") != job) continue;
        waits.add({text(wait, "job"), text(wait, "rank"), text(wait, "call"),
                   duration_text(number(wait, "waited_s") * 1000), text(wait, "for")});
    }
    return waits.empty()
               ? std::string()
               : fmt::format("\nwaiting on {}:\n{}", text(daemon, "name"), waits.text(""));
}

std::string daemon_text(const Json& daemon) {
    std::string lines = fmt::format(
        "paced {} on {}, process {}, up {}\n"
        "socket {}\n"
        "controller {}\n"
        "data {}\n"
        "{} threads\n",
        text(daemon, "version"), text(daemon, "name"), text(daemon, "pid"),
        duration_text(number(daemon, "uptime_s", -1) * 1000), text(daemon, "socket"),
        controller_text(member(daemon, "controller")), data_text(daemon), text(daemon, "threads"));
    if (member(daemon, "controller_problem").is_string())
        lines += fmt::format("not attached: {}\n", text(daemon, "controller_problem"));
    lines += clients_text(daemon);
    lines += waits_text(daemon);
    lines += users_text(daemon);
    lines += shards_text(daemon);
    lines += devices_text(member(daemon, "gpus"));
    lines += pairs_text("LIMITS", member(daemon, "limits"));
    lines += pairs_text("MEMORY", member(daemon, "memory"));
    lines += pairs_text("COUNTERS", member(daemon, "counters"));
    return lines;
}

}  // namespace pace::pacectl
