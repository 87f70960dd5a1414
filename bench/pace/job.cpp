#include "bench/pace/job.h"

#include <charconv>
#include <string>
#include <string_view>

namespace pace::bench {

namespace {

// An --algorithm; `number` says that "-N" follows its name.
struct Word {
    std::string_view name;
    bool number;
    void (*apply)(pace_job_options& job, uint32_t number);
};

void set_sparse(pace_job_options& job, pace_compression compression) {
    job.compression = compression;
    job.dense_fallback = PACE_DENSE_FALLBACK_NEVER;
    job.indices = PACE_INDICES_PLAIN;
    job.values = PACE_VALUES_F32;
}

void set_spardl(pace_job_options& job, uint32_t teams, pace_team_gather gather) {
    set_sparse(job, PACE_COMPRESSION_SPARDL);
    job.teams = teams;
    job.team_gather = gather;
}

void set_compact(pace_job_options& job, uint32_t teams) {
    set_spardl(job, teams, PACE_TEAM_GATHER_AUTOMATIC);
    job.indices = PACE_INDICES_COMPRESSED;
    job.values = PACE_VALUES_F16;
}

void set_average(pace_job_options& job) {
    job.policy = PACE_POLICY_PARTIAL_REDUCE;
    // All workers, and no group that closes without one whom the system has held up.
    job.group_size = job.world;
    job.group_wait_ms = 60'000;
}

using Job = pace_job_options;

constexpr Word kWords[] = {
    {"reduce", false, [](Job&, uint32_t) {}},
    {"average", false, [](Job& job, uint32_t) { set_average(job); }},
    {"all", false, [](Job& job, uint32_t) { job.quorum = PACE_QUORUM_ALL; }},
    {"solo", false, [](Job& job, uint32_t) { job.quorum = PACE_QUORUM_SOLO; }},
    {"majority", false, [](Job& job, uint32_t) { job.quorum = PACE_QUORUM_MAJORITY; }},
    {"majority-strict", false,
     [](Job& job, uint32_t) { job.quorum = PACE_QUORUM_MAJORITY_STRICT; }},
    {"quorum", true,
     [](Job& job, uint32_t count) {
         job.quorum = PACE_QUORUM_COUNT;
         job.quorum_count = count;
     }},
    {"topka", false, [](Job& job, uint32_t) { set_sparse(job, PACE_COMPRESSION_TOPKA); }},
    {"topkdsa", false, [](Job& job, uint32_t) { set_sparse(job, PACE_COMPRESSION_TOPKDSA); }},
    {"gtopk", false, [](Job& job, uint32_t) { set_sparse(job, PACE_COMPRESSION_GTOPK); }},
    {"oktopk", false, [](Job& job, uint32_t) { set_sparse(job, PACE_COMPRESSION_OKTOPK); }},
    {"spardl", false, [](Job& job, uint32_t) { set_spardl(job, 1, PACE_TEAM_GATHER_AUTOMATIC); }},
    {"spardl-auto", false,
     [](Job& job, uint32_t) { set_spardl(job, 0, PACE_TEAM_GATHER_AUTOMATIC); }},
    {"spardl-rsag", true,
     [](Job& job, uint32_t teams) { set_spardl(job, teams, PACE_TEAM_GATHER_RECURSIVE); }},
    {"spardl-bsag", true,
     [](Job& job, uint32_t teams) { set_spardl(job, teams, PACE_TEAM_GATHER_BRUCK); }},
    {"spardl-compact", false, [](Job& job, uint32_t) { set_compact(job, 1); }},
    {"spardl-compact-auto", false, [](Job& job, uint32_t) { set_compact(job, 0); }},
};

// The number of "NAME-N"; nothing if `text` is not of that form.
std::optional<uint32_t> number_of(std::string_view text, std::string_view name) {
    if (!text.starts_with(name) || text.substr(name.size(), 1) != "-") return std::nullopt;
    text.remove_prefix(name.size() + 1);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

std::optional<pace_job_options> job_of(const Options& options) {
    pace_job_options job = PACE_JOB_OPTIONS_INIT;
    job.name = options.job.c_str();
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
        if (is_sparse(job)) job.density = options.density;
        return job;
    }
    return std::nullopt;
}

bool is_partial(const pace_job_options& job) {
    return job.quorum != PACE_QUORUM_DEFAULT && job.quorum != PACE_QUORUM_ALL;
}

bool is_sparse(const pace_job_options& job) {
    return job.compression != PACE_COMPRESSION_DEFAULT;
}

}  // namespace pace::bench
