#include "service/pacectl/findings/gpu_findings.h"

#include <algorithm>

namespace pace::pacectl {

namespace {

constexpr const char* kSubject = "GPUs";

// A reason that ends with what to do.
Finding judge_reason(const std::string& what, const std::string& reason, const char* advice) {
    const size_t end = std::min(reason.rfind("; "), reason.size());
    return {Verdict::warn, kSubject, what + reason.substr(0, end),
            end < reason.size() ? reason.substr(end + 2) : advice};
}

Finding judge_gpu(const Json& gpu) {
    const std::string what =
        fmt::format("{} {}, {}, compute capability {}", text(gpu, "name"), text(gpu, "id"),
                    bytes_text(number(gpu, "bytes")), text(gpu, "compute_capability"));
    if (const std::string reason = text(gpu, "unusable", ""); !reason.empty())
        return judge_reason("", reason, "look at nvidia-smi: is there memory left?");
    if (const std::string other = text(gpu, "shared_with", ""); !other.empty())
        return {Verdict::warn, kSubject, what + ": " + other,
                "unless this is a test of several nodes on one machine, let one daemon serve it"};
    if (!truth(gpu, "open")) return {Verdict::ok, kSubject, what + "; not open", ""};
    const std::string kernels = text(gpu, "kernels");
    // The name of the plug-in; if there is none, the reason.
    if (!kernels.starts_with("CUDA ") && !kernels.starts_with("simulated"))
        return judge_reason(
            what + ": sums are made on the host, for ", kernels,
            "install the package with Pace's plug-in for GPUs, of the same version");
    return {Verdict::ok, kSubject, what + "; kernels: " + kernels, ""};
}

}  // namespace

void judge_gpus(const Facts& facts, Findings& ret_findings) {
    const Json& gpus = member(*facts.daemon.document, "gpus");
    if (!gpus.is_object()) return;
    if (const std::string absent = text(gpus, "absent", ""); !absent.empty()) {
        ret_findings.push_back({Verdict::ok, kSubject, "none is used: " + absent, ""});
        return;
    }
    for (const Json& gpu : list(gpus, "devices")) {
        ret_findings.push_back(judge_gpu(gpu));
        if (text(gpu, "streams_by", "words") == "events")
            ret_findings.push_back(
                {Verdict::warn, kSubject,
                 fmt::format("{} orders the streams of trainers by events, which fail between "
                             "containers with a /dev/shm or process numbers of their own, and may "
                             "hold a stream when a process dies",
                             text(gpu, "id")),
                 "install a driver of CUDA 11.7 or later"});
        const Json& peers = list(gpu, "peers");
        if (!peers.empty())
            ret_findings.push_back(
                {Verdict::ok, kSubject,
                 fmt::format("{} reaches {} others directly", text(gpu, "id"), peers.size()), ""});
    }
    ret_findings.push_back({Verdict::ok, kSubject,
                            fmt::format("the driver has CUDA {}; between nodes: {}",
                                        text(gpus, "driver_cuda"), text(gpus, "between_nodes")),
                            ""});
    ret_findings.push_back({Verdict::ok, kSubject, nccl_line(gpus), ""});
    ret_findings.push_back(
        {Verdict::ok, kSubject,
         fmt::format("UCX here {} a GPU's memory itself (which is not used yet)",
                     facts.machine.ucx_moves_gpu_memory ? "moves" : "does not move"),
         ""});
}

std::string nccl_line(const Json& gpus) {
    const std::string version = text(gpus, "nccl", "");
    if (!version.empty()) return "NCCL " + version;
    return "no NCCL is used: " + text(gpus, "nccl_absent");
}

}  // namespace pace::pacectl
