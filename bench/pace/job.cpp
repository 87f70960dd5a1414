#include "bench/pace/job.h"

#include <charconv>
#include <string>
#include <string_view>

namespace pace::bench {

namespace {

// A word of --algorithm. `number` says that "-N" follows its name.
struct Word {
    std::string_view name;
    bool number;
    void (*apply)(AskedSession& job, uint32_t number);
};

void set_sparse(AskedSession& job, const char* compression) {
    job.set(PACE_OPT_COMPRESSION, compression);
    job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
    job.set(PACE_OPT_TOPK_INDICES, "plain");
    job.set(PACE_OPT_TOPK_VALUES, "f32");
}

void set_spardl(AskedSession& job, uint32_t teams, const char* gather) {
    set_sparse(job, "spardl");
    if (teams != 0) job.set(PACE_OPT_TOPK_TEAMS, teams);
    job.set(PACE_OPT_TOPK_TEAM_GATHER, gather);
}

void set_compact(AskedSession& job, uint32_t teams) {
    set_spardl(job, teams, "automatic");
    job.set(PACE_OPT_TOPK_INDICES, "compressed");
    job.set(PACE_OPT_TOPK_VALUES, "f16");
}

void set_average(AskedSession& job) {
    job.policy = PACE_POLICY_PARTIAL_REDUCE;
    // Groups have all workers. No group closes without a worker that the system has delayed.
    job.set(PACE_OPT_GROUP_SIZE, job.world);
    job.set(PACE_OPT_GROUP_WAIT_MS, 60'000);
}

using Job = AskedSession;

constexpr Word kWords[] = {
    {"reduce", false, [](Job&, uint32_t) {}},
    {"average", false, [](Job& job, uint32_t) { set_average(job); }},
    {"all", false, [](Job& job, uint32_t) { job.set(PACE_OPT_QUORUM, "all"); }},
    {"solo", false, [](Job& job, uint32_t) { job.set(PACE_OPT_QUORUM, "solo"); }},
    {"majority", false, [](Job& job, uint32_t) { job.set(PACE_OPT_QUORUM, "majority"); }},
    {"majority-strict", false,
     [](Job& job, uint32_t) { job.set(PACE_OPT_QUORUM, "majority-strict"); }},
    {"quorum", true,
     [](Job& job, uint32_t count) {
         job.set(PACE_OPT_QUORUM, "count");
         job.set(PACE_OPT_QUORUM_COUNT, count);
     }},
    {"topka", false, [](Job& job, uint32_t) { set_sparse(job, "topka"); }},
    {"topkdsa", false, [](Job& job, uint32_t) { set_sparse(job, "topkdsa"); }},
    {"gtopk", false, [](Job& job, uint32_t) { set_sparse(job, "gtopk"); }},
    {"oktopk", false, [](Job& job, uint32_t) { set_sparse(job, "oktopk"); }},
    {"spardl", false, [](Job& job, uint32_t) { set_spardl(job, 1, "automatic"); }},
    {"spardl-auto", false, [](Job& job, uint32_t) { set_spardl(job, 0, "automatic"); }},
    {"spardl-rsag", true, [](Job& job, uint32_t teams) { set_spardl(job, teams, "recursive"); }},
    {"spardl-bsag", true, [](Job& job, uint32_t teams) { set_spardl(job, teams, "bruck"); }},
    {"spardl-compact", false, [](Job& job, uint32_t) { set_compact(job, 1); }},
    {"spardl-compact-auto", false, [](Job& job, uint32_t) { set_compact(job, 0); }},
};

// Returns the number of "NAME-N", or nothing if `text` does not have this form.
std::optional<uint32_t> number_of(std::string_view text, std::string_view name) {
    if (!text.starts_with(name) || text.substr(name.size(), 1) != "-") return std::nullopt;
    text.remove_prefix(name.size() + 1);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

std::optional<AskedSession> job_of(const Options& options) {
    AskedSession job;
    job.endpoint = options.endpoint;
    job.job = options.job;
    job.rank = options.rank;
    job.world = options.world;
    job.policy = PACE_POLICY_ALL_REDUCE;
    for (const Word& word : kWords) {
        std::optional<uint32_t> number;
        if (word.number)
            number = number_of(options.algorithm, word.name);
        else if (word.name == options.algorithm)
            number = 0;
        if (!number) continue;
        word.apply(job, *number);
        if (is_sparse(job)) job.set(PACE_OPT_TOPK_DENSITY, options.density);
        return job;
    }
    return std::nullopt;
}

bool is_partial(const AskedSession& job) {
    return job.has(PACE_OPT_QUORUM) && !job.has(PACE_OPT_QUORUM, "all");
}

bool is_sparse(const AskedSession& job) {
    return job.has(PACE_OPT_COMPRESSION);
}

}  // namespace pace::bench
