#include "service/pacectl/job_flags.h"

#include <charconv>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace pace::pacectl {

namespace {

namespace wire = protocol::client;

template <typename Choice>
struct Word {
    const char* word;
    Choice choice;
};

using wire::Policy;
constexpr Word<Policy> kPolicies[] = {{"partial-reduce", Policy::partial_reduce},
                                      {"all-reduce", Policy::all_reduce},
                                      {"prague-random", Policy::prague_random},
                                      {"prague-smart", Policy::prague_smart},
                                      {"ad-psgd", Policy::ad_psgd},
                                      {"full", Policy::full},
                                      {"prague-static", Policy::prague_static},
                                      {"auto", Policy::automatic},
                                      {"bsp", Policy::bsp},
                                      {"ssp", Policy::ssp},
                                      {"asp", Policy::asp}};
using wire::Rate;
constexpr Word<Rate> kRates[] = {
    {"sum", Rate::sum}, {"constant", Rate::constant}, {"dynamic", Rate::dynamic}};
using wire::Weights;
constexpr Word<Weights> kWeights[] = {{"constant", Weights::constant},
                                      {"dynamic", Weights::dynamic}};
using wire::Missing;
constexpr Word<Missing> kMissing[] = {{"closest", Missing::closest}, {"initial", Missing::initial}};
using wire::Quorum;
constexpr Word<Quorum> kQuorums[] = {{"all", Quorum::all},
                                     {"solo", Quorum::solo},
                                     {"majority", Quorum::majority},
                                     {"majority-strict", Quorum::majority_strict},
                                     {"count", Quorum::count}};
using wire::Late;
constexpr Word<Late> kLates[] = {{"accumulate", Late::accumulate}, {"drop", Late::drop}};
using wire::DivideBy;
constexpr Word<DivideBy> kDivideBys[] = {{"world", DivideBy::world},
                                         {"contributors", DivideBy::contributors}};
using wire::Compression;
constexpr Word<Compression> kCompressions[] = {
    {"none", Compression::off},    {"f16", Compression::f16},
    {"bf16", Compression::bf16},   {"spardl", Compression::spardl},
    {"topka", Compression::topka}, {"topkdsa", Compression::topkdsa},
    {"gtopk", Compression::gtopk}, {"oktopk", Compression::oktopk}};
using wire::Residuals;
constexpr Word<Residuals> kResiduals[] = {
    {"global", Residuals::global}, {"partial", Residuals::partial}, {"local", Residuals::local}};
using wire::TeamGather;
constexpr Word<TeamGather> kTeamGathers[] = {{"automatic", TeamGather::automatic},
                                             {"recursive", TeamGather::recursive},
                                             {"bruck", TeamGather::bruck}};
using wire::Indices;
constexpr Word<Indices> kIndices[] = {{"compressed", Indices::compressed},
                                      {"plain", Indices::plain}};
using wire::Values;
constexpr Word<Values> kValues[] = {
    {"f32", Values::f32}, {"f16", Values::f16}, {"bf16", Values::bf16}};
using wire::Hierarchy;
constexpr Word<Hierarchy> kHierarchies[] = {{"node", Hierarchy::node}, {"flat", Hierarchy::flat}};
using wire::DenseFallback;
constexpr Word<DenseFallback> kDenseFallbacks[] = {{"automatic", DenseFallback::automatic},
                                                   {"never", DenseFallback::never}};

// An option whose value is one of a few words.
template <typename Choice, size_t count>
void add_choice(CLI::App& app, const std::string& name, Choice& choice,
                const Word<Choice> (&words)[count], const std::string& help) {
    std::string all;
    for (const auto& word : words) all += (all.empty() ? "" : ", ") + std::string(word.word);
    app.add_option_function<std::string>(
           name,
           [name, all, &choice, &words](const std::string& given) {
               for (const auto& word : words) {
                   if (given != word.word) continue;
                   choice = word.choice;
                   return;
               }
               throw CLI::ValidationError(name, "'" + given + "' is none of " + all);
           },
           help + ": " + all + ".")
        ->type_name("WORD");
}

// "0-1": two ranks that may average with each other.
void add_edge(const std::string& text, std::vector<uint32_t>& ret_edges) {
    const char* const end = text.data() + text.size();
    uint32_t a = 0;
    uint32_t b = 0;
    const auto [dash, error] = std::from_chars(text.data(), end, a);
    const bool has_dash = error == std::errc() && dash != end && *dash == '-';
    if (has_dash) {
        const auto [last, error_of_b] = std::from_chars(dash + 1, end, b);
        if (error_of_b == std::errc() && last == end) {
            ret_edges.insert(ret_edges.end(), {a, b});
            return;
        }
    }
    throw CLI::ValidationError("--edge", "'" + text + "' is no edge; give two ranks, as in 0-1");
}

void add_graph_flag(CLI::App& create, client::JobOptions& job) {
    create
        .add_option_function<std::vector<std::string>>(
            "--edge,--edges",
            [&job](const std::vector<std::string>& edges) {
                for (const std::string& edge : edges) add_edge(edge, job.edges);
            },
            "Of ad-psgd: two ranks that may average with each other, as in 0-1; several with "
            "commas, or once for each. None: any two may.")
        ->delimiter(',')
        ->type_name("RANK-RANK");
}

void add_group_flags(CLI::App& create, client::JobOptions& job) {
    create.add_option("--group-size", job.group_size, "Workers of a group.");
    create.add_option("--group-min", job.group_min,
                      "The smallest group that is closed when waiting has lasted long enough.");
    add_choice(create, "--weights", job.weights, kWeights, "Of a group's models");
    add_choice(create, "--missing", job.missing, kMissing,
               "Who stands in for an iteration that no member has");
    create
        .add_option("--alpha", job.alpha,
                    "Decay of dynamic weights, 0 <= alpha < 1; 0.5 unless given.")
        ->check(CLI::NonNegativeNumber);
    create.add_option("--group-wait-ms", job.group_wait_ms, "0: adaptive.");
    create.add_option(
        "--progress-gap", job.progress_gap,
        "Of prague-smart: who has signalled so many times less is not waited for. 0: 4.");
    create.add_option("--history-window", job.history_window, "Groups that must connect everyone.");
    add_graph_flag(create, job);
}

void add_quorum_flags(CLI::App& create, client::JobOptions& job) {
    add_choice(create, "--quorum", job.quorum, kQuorums,
               "Who must have called before a reduce goes on");
    create.add_option("--quorum-count", job.quorum_count, "With --quorum count: how many.");
    add_choice(create, "--late", job.late, kLates, "What becomes of a late gradient");
    create.add_option("--staleness-max", job.staleness_max,
                      "Rounds after which a late gradient is waited for, 0: 32; of ssp, steps that "
                      "a worker may be ahead, 0: 3.");
    add_choice(create, "--divide-by", job.divide_by, kDivideBys, "What a mean divides the sum by");
    create.add_option("--resync-every", job.resync_every,
                      "Rounds after which workers are asked to synchronize. 0: never.");
}

void add_compression_flags(CLI::App& create, client::JobOptions& job) {
    add_choice(create, "--compression", job.compression, kCompressions,
               "What of the gradients travels");
    create.add_option("--density", job.density,
                      "Share of the elements that top-k chooses, at most 1. 0: 0.01.");
    add_choice(create, "--residuals", job.residuals, kResiduals,
               "Which of the values that were cut come again");
    create.add_option("--teams", job.teams, "Of SparDL. 0: chosen by the cost model.");
    add_choice(create, "--team-gather", job.team_gather, kTeamGathers, "How teams gather");
    add_choice(create, "--indices", job.indices, kIndices, "How indices travel");
    add_choice(create, "--values", job.values, kValues, "How values travel");
    add_choice(create, "--hierarchy", job.hierarchy, kHierarchies,
               "Whether a node or a worker takes part as one");
    add_choice(create, "--dense-fallback", job.dense_fallback, kDenseFallbacks,
               "Whether what dense does faster goes dense");
}

void add_server_flags(CLI::App& create, client::JobOptions& job) {
    create.add_option("--elements", job.elements, "Of a parameter server's model.");
    add_choice(create, "--rate", job.rate, kRates, "What an update counts");
    create.add_option("--constant-rate", job.constant_rate,
                      "With --rate constant: what each counts. 0: 1/world.");
    create.add_option("--filter", job.filter,
                      "Elements of updates below it wait at their worker. 0: 1e-6; less: none.");
    create.add_option("--shards", job.shards, "Parts of the model. 0: one on each node.");
    create.add_option("--checkpoint-every-ms", job.checkpoint_every_ms,
                      "How often the model is saved. 0: when a worker asks.");
    create.add_option("--checkpoint-copies", job.checkpoint_copies,
                      "Nodes whose disks have each part of it, 1 or 2. 0: 2.");
    create.add_flag("--restore", job.restore,
                    "Begin with the newest checkpoint of a job of this name, if there is one.");
    create.add_flag("--unsynchronized", job.unsynchronized,
                    "A pull may see an update in one shard and not in another.");
}

}  // namespace

void add_job_flags(CLI::App& create, client::JobOptions& ret_job) {
    create.add_option("name", ret_job.name, "Letters, digits, '.', '_', '-'; at most 63.")
        ->required();
    create.add_option("--world", ret_job.world, "Workers of the job.")->required();
    add_choice(create, "--policy", ret_job.policy, kPolicies, "Who exchanges with whom");
    create.add_option("--worker-timeout-ms", ret_job.worker_timeout_ms,
                      "A worker later than this is suspended. 0: adaptive.");
    add_group_flags(create, ret_job);
    add_quorum_flags(create, ret_job);
    add_compression_flags(create, ret_job);
    add_server_flags(create, ret_job);
    create.add_flag("--reject-nonfinite", ret_job.reject_nonfinite,
                    "A gradient with an infinity or a NaN is refused.");
}

}  // namespace pace::pacectl
