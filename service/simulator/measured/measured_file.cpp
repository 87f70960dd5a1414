#include "service/simulator/measured/measured_file.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "service/simulator/files/try_file.h"
#include "service/simulator/measured/rounded.h"
#include "service/simulator/model/candidate.h"

namespace pace::simulator {

using controller::Compression;
using controller::JobOptions;
using controller::Policy;
using controller::Quorum;

namespace {

constexpr size_t kGroupSizeUsual = 3;  // from docs/options.md

// Writes the text in TOML's quotes. Names are already printable ASCII.
std::string quoted(const std::string& text) {
    std::string all = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') all += '\\';
        all += letter;
    }
    return all + "\"";
}

std::string job_text(const Measurements& found) {
    const JobOptions& options = found.job.options;
    const JobOptions usual;
    std::string text = fmt::format("[job]\nbytes = {}\n", found.bytes);
    if (options.weights != usual.weights)
        text += fmt::format("weights = \"{}\"\nalpha = {}\nmissing = \"{}\"\n",
                            name_of(options.weights), options.alpha, name_of(options.missing));
    if (options.group_wait_ms != 0)
        text += fmt::format("group_wait_ms = {}\n", options.group_wait_ms);
    if (options.progress_gap != usual.progress_gap && options.progress_gap != 0)
        text += fmt::format("progress_gap = {}\n", options.progress_gap);
    return text;
}

std::string now_of_rounds(const JobOptions& options, size_t world) {
    if (options.quorum == Quorum::count)
        return fmt::format("quorum = {}\n", std::clamp<size_t>(options.quorum_count, 1, world));
    if (options.quorum != Quorum::all)
        return fmt::format("quorum = \"{}\"\n", name_of(options.quorum));
    if (options.compression == Compression::off) return "";
    std::string text = fmt::format("compression = \"{}\"\n", name_of(options.compression));
    if (is_top_k(options.compression))
        text += fmt::format("density = {}\n", std::clamp(options.density, kDensityMin, 1.0));
    return text;
}

// How the job runs now. What is not simulated is left out, and a note says so.
std::string now_text(Measurements& ret_found) {
    const JobOptions& options = ret_found.job.options;
    const size_t world = ret_found.job.workers.size();
    const auto known = simulated_compressions().choices;
    if (std::find(known.begin(), known.end(), options.compression) == known.end()) {
        ret_found.notes.push_back(fmt::format(
            "Compression {}, which the job has, is not simulated: the choice is compared "
            "with all-reduce without one.",
            name_of(options.compression)));
        return "";
    }
    std::string text = fmt::format("\n[now]\npolicy = \"{}\"\n", name_of(options.policy));
    const size_t size = options.group_size == 0 ? kGroupSizeUsual : options.group_size;
    if (lets_choose_size(options.policy))
        text += fmt::format("group_size = {}\n", std::clamp<size_t>(size, 2, world));
    if (options.policy == Policy::ssp) text += fmt::format("staleness = {}\n", options.staleness);
    if (options.policy == Policy::all_reduce) text += now_of_rounds(options, world);
    return text;
}

std::string network_text(const MeasuredLinks& links) {
    std::string text = fmt::format("\n[network]\nlatency_us = {}\n", links.latency_us);
    if (links.between_gbit)
        text += fmt::format("between_zones_gbit = {}\nbetween_zones_latency_us = {}\n",
                            *links.between_gbit, rounded(links.between_latency_us));
    return text;
}

// Equal nodes in a row are one table.
std::string nodes_text(const Measurements& found) {
    std::map<std::string, size_t> nodes_of_host;
    for (const MeasuredNode& node : found.job.nodes) ++nodes_of_host[node.host];
    std::vector<std::pair<std::string, size_t>> tables;
    for (size_t i = 0; i < found.job.nodes.size(); ++i) {
        const MeasuredNode& node = found.job.nodes[i];
        const auto workers =
            std::count_if(found.job.workers.begin(), found.job.workers.end(),
                          [&](const MeasuredWorker& worker) { return worker.node == node.node; });
        std::string text = fmt::format("workers = {}\nlink_gbit = {}\nmemory_gbytes_per_s = {}\n",
                                       workers, found.links.gbit[i], found.memory_gbytes_per_s);
        if (!node.zone.empty()) text += fmt::format("zone = {}\n", quoted(node.zone));
        if (!node.host.empty() && nodes_of_host[node.host] > 1)
            text += fmt::format("machine = {}\n", quoted(node.host));
        if (tables.empty() || tables.back().first != text) tables.emplace_back(text, 0);
        ++tables.back().second;
    }
    std::string all;
    for (const auto& [text, count] : tables) {
        all += "\n[[nodes]]\n";
        if (count > 1) all += fmt::format("count = {}\n", count);
        all += text;
    }
    return all;
}

// The workers that are not as fast as the median, and their factors. Ranks are counted as in the
// file.
std::string workers_text(const MeasuredSteps& steps) {
    std::map<double, std::vector<size_t>> by_factor;
    for (size_t i = 0; i < steps.factors.size(); ++i)
        if (steps.factors[i] != 1) by_factor[steps.factors[i]].push_back(i);
    std::string text;
    for (const auto& [factor, ranks] : by_factor)
        text +=
            fmt::format("\n[[workers]]\nranks = [{}]\nslow = {}\n", fmt::join(ranks, ", "), factor);
    return text;
}

// The job's ranks, if the file counts them differently.
std::string ranks_text(const MeasuredJob& job) {
    std::vector<uint64_t> ranks;
    for (const MeasuredWorker& worker : job.workers) ranks.push_back(worker.rank);
    for (size_t i = 0; i < ranks.size(); ++i)
        if (ranks[i] != i)
            return fmt::format("# Ranks 0 to {} of this file are the job's ranks {}.\n",
                               ranks.size() - 1, fmt::join(ranks, ", "));
    return "";
}

}  // namespace

std::string file_of(Measurements& ret_found) {
    const std::string now = now_text(ret_found);
    const MeasuredSteps& steps = ret_found.steps;
    // This factor is the distance between a lognormal distribution's mean and its median.
    const double mean_ms = rounded(steps.median_ms * std::sqrt(1 + steps.cv * steps.cv));
    std::string text =
        fmt::format("# Job '{}' as it was measured, for pace-sim.\n", ret_found.job.name);
    for (const std::string& note : ret_found.notes) text += "# " + note + "\n";
    text += ranks_text(ret_found.job) + "\n" + job_text(ret_found) + now;
    text += fmt::format("\n[step]\ndistribution = \"lognormal\"\nmean_ms = {}\ncv = {}\n", mean_ms,
                        steps.cv);
    return text + network_text(ret_found.links) + nodes_text(ret_found) + workers_text(steps);
}

}  // namespace pace::simulator
