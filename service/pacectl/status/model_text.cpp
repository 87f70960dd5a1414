#include "service/pacectl/status/model_text.h"

namespace pace::pacectl {

namespace {

std::string checkpoint_text(const Json& model) {
    const Json& checkpoint = member(model, "checkpoint");
    std::string line;
    if (member(checkpoint, "position").is_number())
        line += fmt::format("  checkpoint: at position {} of {}, {:.1f} s ago\n",
                            count(checkpoint, "position"), count(model, "position"),
                            number(checkpoint, "age_s"));
    if (member(checkpoint, "failure").is_string())
        line += fmt::format("  the last checkpoint failed: {}\n", text(checkpoint, "failure"));
    return line;
}

std::string longest_wait_text(const Json& model) {
    const Json& waits = list(model, "waited_by_s");
    if (waits.empty() || !waits[0].is_array() || waits[0].size() != 2 ||
        !waits[0][0].is_number_unsigned() || !waits[0][1].is_number())
        return {};
    return fmt::format(" (rank {} most: {:.3f} s)", waits[0][0].get<uint64_t>(),
                       waits[0][1].get<double>());
}

}  // namespace

std::string model_text(const Json& job) {
    const Json& model = member(job, "model");
    if (!model.is_object()) return {};
    const size_t shards = list(model, "shards").size();
    std::string lines = fmt::format(
        "  model: {} {}, {} pushes, {} pulls, clocks {} to {}, {} live {}{}\n", shards,
        shards == 1 ? "shard" : "shards", count(model, "pushes"), count(model, "pulls"),
        count(model, "slowest_clock"), count(model, "fastest_clock"), count(model, "live_versions"),
        count(model, "live_versions") == 1 ? "version" : "versions",
        member(model, "waits_for_a_node") == true ? "; waits for a node that keeps a part of it"
                                                  : "");
    if (count(model, "pulls_waited") + count(model, "pulls_waiting") > 0)
        lines += fmt::format("  pulls held back by staleness: {}, {:.3f} s in all{}, {} now\n",
                             count(model, "pulls_waited"), number(model, "waited_total_s"),
                             longest_wait_text(model), count(model, "pulls_waiting"));
    std::string buckets;
    const Json& staleness = list(model, "staleness");
    for (size_t i = 0; i < staleness.size(); ++i)
        if (staleness[i].is_number_unsigned() && staleness[i] != 0)
            buckets += fmt::format(" {}:{}", i, staleness[i].get<uint64_t>());
    if (!buckets.empty())
        lines += fmt::format("  pushes by versions that they were behind:{}\n", buckets);
    return lines + checkpoint_text(model);
}

}  // namespace pace::pacectl
