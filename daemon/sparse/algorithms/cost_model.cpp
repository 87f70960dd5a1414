#include "daemon/sparse/algorithms/cost_model.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "daemon/sparse/algorithms/team_gather.h"
#include "daemon/sparse/wire/division.h"

namespace pace::sparse {

namespace {

double log2_up(size_t workers) {
    return static_cast<double>(steps_of(workers));
}

bool may_divide(size_t P, size_t d, TeamGather gather) {
    return P % d == 0 && (gather != TeamGather::recursive || std::has_single_bit(d));
}

}  // namespace

double entry_bytes(const Problem& problem) {
    const size_t k = std::min(problem.k, problem.n);
    if (k == 0) return 0;
    return static_cast<double>(coded_bytes_max(problem.format, {problem.n, k}) - kCountBytes) /
           static_cast<double>(k);
}

Cost spar_dl_cost(const Problem& problem, size_t d, TeamGather gather) {
    const auto P = static_cast<double>(problem.P);
    const auto teams = static_cast<double>(d);
    const double k = static_cast<double>(problem.k) * entry_bytes(problem);
    const double L = k * teams / P;
    Cost cost{2 * log2_up(problem.P / d) + log2_up(d), 2 * k * (P - teams) / P};
    const ValueFormat value = problem.format.value;
    if (teams_wait(gather, problem.residuals, value, d)) cost.messages += log2_up(d);
    if (is_recursive(gather, problem.residuals, value, d))
        cost.bytes += L * log2_up(d);  // equation (4)
    else
        cost.bytes += (teams - 1) * (k / P + L) / 2;  // equation (6), k/P <= h <= L
    return cost;
}

Cost cost_of(Algorithm algorithm, const Problem& problem) {
    const auto P = static_cast<double>(problem.P);
    const double k = static_cast<double>(problem.k) * entry_bytes(problem);
    const double log_p = log2_up(problem.P);
    const double others = (P - 1) / P;
    switch (algorithm) {
        case Algorithm::spar_dl:
            return spar_dl_cost(problem, 1, TeamGather::automatic);
        case Algorithm::topk_a:
            return {log_p, (P - 1) * k};
        case Algorithm::topk_dsa: {
            // Table 1: between 4(P-1)/P·k and (P-1)/P·(2k + n) words.
            const double dense = static_cast<double>(problem.n) *
                                 static_cast<double>(value_bytes(problem.format.value));
            return {P + 2 * log_p,
                    others * (k + (std::min(k, dense) + std::min(P * k, dense)) / 2)};
        }
        case Algorithm::g_topk:
            return {2 * log_p, 2 * log_p * k};
        case Algorithm::ok_topk:
            return {2 * (P + log_p), 2 * k * others};  // between 2k and 6k words
        case Algorithm::dense:
            return dense_cost(problem);
    }
    return {};
}

Cost dense_cost(const Problem& problem) {
    if (problem.P <= 1) return {};
    const auto P = static_cast<double>(problem.P);
    return {2, 2 * (P - 1) / P * static_cast<double>(problem.n) * sizeof(float)};
}

size_t best_teams(const Problem& problem, TeamGather gather, const Link& link) {
    size_t best = 1;
    for (size_t d = 2; d <= problem.P; ++d)
        if (may_divide(problem.P, d, gather) &&
            spar_dl_cost(problem, d, gather).seconds(link) <
                spar_dl_cost(problem, best, gather).seconds(link))
            best = d;
    return best;
}

DenseChoice should_go_dense(const Problem& problem, const Link& link, double sparse_s_per_element) {
    const size_t d = best_teams(problem, TeamGather::automatic, link);
    const double moving = spar_dl_cost(problem, d, TeamGather::automatic).seconds(link);
    const double sparse = moving + static_cast<double>(problem.n) * sparse_s_per_element;
    const double dense = dense_cost(problem).seconds(link);
    const bool go_dense = dense <= sparse;
    return {go_dense,
            fmt::format("{} is expected to be faster for {} of {} elements among {} nodes: sparse "
                        "{:.3f} ms (of which {:.3f} ms on the wire), dense {:.3f} ms",
                        go_dense ? "dense" : "sparse", problem.k, problem.n, problem.P,
                        sparse * 1e3, moving * 1e3, dense * 1e3)};
}

}  // namespace pace::sparse
