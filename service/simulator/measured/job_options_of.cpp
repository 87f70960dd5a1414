#include "service/simulator/measured/job_options_of.h"

#include <algorithm>

#include <fmt/format.h>

#include "service/simulator/files/cluster_file.h"

namespace pace::simulator {

using base::Result;

namespace {

constexpr uint64_t kMillisecondsMax = 3'600'000;
constexpr uint64_t kCallsMax = 1'000'000;
constexpr uint64_t kElementsMax = uint64_t{1} << 40U;

// Reads a word of a choice whose numbers begin with 1. If the key is absent, the choice stays as it
// is.
template <typename Choice>
Result<> read_choice(const StatusFields& options, std::string_view key, Choice& ret_choice) {
    if (!options.has(key)) return {};
    PACE_TRY_ASSIGN(word, options.text(key));
    const controller::Words words = words_of(ret_choice);
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end())
        return options.error(key, fmt::format("this pace-sim knows {} only",
                                              fmt::join(words.begin(), words.end(), ", ")));
    ret_choice = static_cast<Choice>(found - words.begin() + 1);
    return {};
}

Result<> read_number(const StatusFields& options, std::string_view key, uint64_t most,
                     uint32_t& ret_number) {
    PACE_TRY_ASSIGN(number, options.whole(key, most, ret_number));
    ret_number = static_cast<uint32_t>(number);
    return {};
}

}  // namespace

Result<controller::JobOptions> job_options_of(const StatusFields& options) {
    controller::JobOptions job;
    if (!options.has("policy")) return options.error("policy", "each job has one");
    PACE_TRY(read_choice(options, "policy", job.policy));
    PACE_TRY(read_number(options, "group.size", kWorkersMax, job.group_size));
    PACE_TRY(read_number(options, "group.wait_ms", kMillisecondsMax, job.group_wait_ms));
    PACE_TRY(read_number(options, "group.progress_gap", kCallsMax, job.progress_gap));
    PACE_TRY(read_choice(options, "average.weights", job.weights));
    PACE_TRY(read_choice(options, "average.missing", job.missing));
    PACE_TRY_ASSIGN(alpha, options.number("average.alpha", 0.999, job.alpha));
    job.alpha = alpha;
    PACE_TRY(read_choice(options, "quorum", job.quorum));
    PACE_TRY(read_number(options, "quorum.count", kWorkersMax, job.quorum_count));
    PACE_TRY(read_choice(options, "compression", job.compression));
    PACE_TRY_ASSIGN(density, options.number("topk.density", 1, job.density));
    job.density = density;
    PACE_TRY(read_number(options, "server.staleness", kCallsMax, job.staleness));
    PACE_TRY_ASSIGN(elements, options.whole("server.elements", kElementsMax, 0));
    job.elements = elements;
    return job;
}

}  // namespace pace::simulator
