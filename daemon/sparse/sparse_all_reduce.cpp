#include "daemon/sparse/sparse_all_reduce.h"

#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "daemon/sparse/algorithms/cost_model.h"
#include "daemon/sparse/algorithms/dense.h"
#include "daemon/sparse/algorithms/g_topk.h"
#include "daemon/sparse/algorithms/ok_topk.h"
#include "daemon/sparse/algorithms/spar_dl.h"
#include "daemon/sparse/algorithms/team_gather.h"
#include "daemon/sparse/algorithms/topk_a.h"
#include "daemon/sparse/algorithms/topk_dsa.h"
#include "daemon/sparse/exchange/exchange.h"
#include "daemon/sparse/residual/chosen.h"
#include "daemon/sparse/residual/gradient.h"
#include "daemon/sparse/residual/gradient_store.h"
#include "daemon/sparse/wire/packed.h"

namespace pace::sparse {

using base::ErrorKind;
using base::Result;
using base::Task;
using collectives::Communicator;

namespace {

Result<> check_sizes(const Packed& packed, size_t result_bytes, const Residual& residual) {
    if (result_bytes != packed.layout().bytes())
        return base::make_error(ErrorKind::invalid,
                                "the result has {} bytes, but the layout {}; allocate the latter",
                                result_bytes, packed.layout().bytes());
    if (packed.count() > std::numeric_limits<uint32_t>::max())
        return base::make_error(ErrorKind::invalid,
                                "{} elements are too many for one sparse exchange; cut the buffers "
                                "into exchanges of less than 2^32",
                                packed.count());
    if (residual.count() != packed.count())
        return base::make_error(ErrorKind::invalid,
                                "the residual has {} elements, but the buffers {}; it belongs to "
                                "other buffers",
                                residual.count(), packed.count());
    return {};
}

size_t teams_of(const Options& options, const Problem& problem) {
    if (options.algorithm != Algorithm::spar_dl) return 1;
    if (options.teams != 0) return options.teams;
    return best_teams(problem, options.gather, options.link);
}

// Keeps the Adaptation, or begins a new one if it was made for another kind of exchange.
void adapt(Adaptation& adaptation, const Options& options, size_t nodes, size_t teams,
           const Block& own) {
    Adaptation fresh{options.view, nodes, teams, 0, options.density, {}, {}};
    fresh.count = own.length();
    const bool same = adaptation.view == fresh.view && adaptation.nodes == fresh.nodes &&
                      adaptation.teams == fresh.teams && adaptation.count == fresh.count &&
                      adaptation.density == fresh.density;
    if (same) return;
    fresh.ratio = CompressionRatio(own.k, teams);
    adaptation = std::move(fresh);
}

Task<Result<Entries>> entries_of(Exchange& exchange, size_t teams) {
    switch (exchange.options.algorithm) {
        case Algorithm::spar_dl:
            return spar_dl(exchange, teams);
        case Algorithm::topk_a:
            return topk_a(exchange);
        case Algorithm::topk_dsa:
            return topk_dsa(exchange);
        case Algorithm::g_topk:
            return g_topk(exchange);
        case Algorithm::ok_topk:
            return ok_topk(exchange);
        case Algorithm::dense:
            break;  // has no entries
    }
    return spar_dl(exchange, teams);
}

void count_since(Report& report, const Communicator::Counters& before,
                 const Communicator::Counters& after) {
    report.messages_sent = after.messages_sent - before.messages_sent;
    report.messages_received = after.messages_received - before.messages_received;
    report.bytes_sent = after.bytes_sent - before.bytes_sent;
    report.bytes_received = after.bytes_received - before.bytes_received;
}

// The arguments of sparse_all_reduce().
struct Call {
    Communicator& communicator;
    const collectives::LocalPart& part;
    const Packed& packed;
    double scale;
    std::span<std::byte> result;
    SparseState& state;
    const Options& options;
    Aside aside;
};

Task<Result<Report>> run_dense(const Call& call) {
    const bool contributes = call.communicator.contributes(call.communicator.self());
    const std::span<float> next = call.state.begin(UndoLog(), contributes);
    Result<> summed =
        co_await dense(call.communicator, call.part, call.packed, call.scale, call.result,
                       call.state.residual().values(), next, call.options.all_reduce, call.aside);
    call.state.log().settle();  // `next` is complete, whatever has become of the sum
    if (!summed) co_return std::move(summed).error();
    Report report;
    report.chosen = call.packed.count();
    report.hidden = encode_hidden({}, call.scale, call.packed);
    co_return report;
}

// Writes the result where the gradient is.
void write_result(const Call& call, const Entries& chosen) {
    if (const auto& far = call.state.residual().far())
        far->scatter_result(chosen, call.scale);
    else
        scatter_result(chosen, call.scale, call.packed, call.result, call.aside.pool);
}

Task<Result<Report>> run_by_entries(const Call& call) {
    const Options& options = call.options;
    const Packed& packed = call.packed;
    const size_t nodes = call.communicator.size();
    const size_t n = packed.count();
    Report report;
    report.teams = teams_of(
        options, {nodes, n, top_count(n, options.density), options.format, options.residuals});

    // Algorithm 1, lines 1 and 2.
    const bool in_blocks = options.algorithm == Algorithm::spar_dl;
    const Division division(n, in_blocks ? nodes / report.teams : 1, options.density);
    const std::span<float> gradient = call.state.begin(UndoLog(division, options.residuals));
    HostGradient here(gradient, call.aside.pool, [&](size_t begin, size_t end) {
        gather_gradient(call.part, packed, call.state.residual().values(), gradient, begin, end,
                        call.aside.pool);
    });
    FarGradient* const far = call.state.residual().far().get();
    GradientStore& store = far != nullptr ? static_cast<GradientStore&>(*far) : here;
    const size_t own = in_blocks ? call.communicator.self() % division.blocks() : 0;
    adapt(call.state.next(), options, nodes, report.teams, division.block(own));
    Collection collection(store, call.state.log(), options.format.value);
    Exchange exchange{call.communicator, options, collection, call.state.next(), call.aside};

    Result<Entries> chosen = co_await entries_of(exchange, report.teams);
    if (!chosen) co_return std::move(chosen).error();
    call.communicator.begin_result();
    const std::function<void()> scatter = [&] {
        write_result(call, *chosen);
        report.hidden = encode_hidden(*chosen, call.scale, packed);
    };
    co_await call.aside.run(scatter);
    if (Result<> status = store.status(); !status) co_return std::move(status).error();
    report.chosen = chosen->size();
    if (in_blocks && report.teams > 1 &&
        !is_recursive(options.gather, options.residuals, options.format.value, report.teams))
        report.h = call.state.next().ratio.h();
    co_return report;
}

}  // namespace

bool runs_elsewhere(Algorithm algorithm) {
    return algorithm != Algorithm::dense && algorithm != Algorithm::ok_topk;
}

Result<> check(const Options& options, size_t nodes) {
    if (!(options.density > 0.0 && options.density <= 1.0))
        return base::make_error(ErrorKind::invalid,
                                "density is {}; it must be above 0 and at most 1, 0.01 is usual",
                                options.density);
    if (options.algorithm < Algorithm::spar_dl || options.algorithm > Algorithm::dense ||
        options.gather > TeamGather::bruck || options.residuals > ResidualMode::local ||
        options.format.index < IndexFormat::plain ||
        options.format.index > IndexFormat::elias_fano || options.format.value < ValueFormat::f32 ||
        options.format.value > ValueFormat::bf16)
        return base::make_error(ErrorKind::invalid,
                                "the sparse options hold a number that names nothing");
    if (options.algorithm != Algorithm::spar_dl) return {};
    if (options.teams != 0 && nodes % options.teams != 0)
        return base::make_error(ErrorKind::invalid,
                                "{} nodes cannot form {} equal teams; choose a number that divides "
                                "{}, or 0 to have it chosen",
                                nodes, options.teams, nodes);
    if (options.gather == TeamGather::recursive && options.teams != 0 &&
        !std::has_single_bit(options.teams))
        return base::make_error(ErrorKind::invalid,
                                "recursive doubling needs a power of two of teams, not {}; choose "
                                "bruck or automatic",
                                options.teams);
    return {};
}

Task<Result<Report>> sparse_all_reduce(Communicator& communicator,
                                       const collectives::LocalPart& part, double scale,
                                       std::span<std::byte> result, SparseState& state,
                                       const Options& options, kernels::WorkerPool& pool,
                                       kernels::WorkerPool::Post post) {
    const Packed packed(part.layout());
    if (Result<> fits = check_sizes(packed, result.size(), state.residual()); !fits)
        co_return std::move(fits).error();
    if (Result<> sane = check(options, communicator.size()); !sane)
        co_return std::move(sane).error();
    if (state.residual().far() && !runs_elsewhere(options.algorithm))
        co_return base::make_error(ErrorKind::invalid,
                                   "this algorithm needs its gradient on the host");
    const bool is_dense = options.algorithm == Algorithm::dense;
    // A node that does not contribute still makes its residual, because the others need nothing
    // from it.
    if (communicator.aborted() && !(is_dense && !communicator.contributes(communicator.self())))
        co_return communicator.status().error();

    const size_t n = packed.count();
    const Communicator::Counters before = communicator.counters();
    const Call call{communicator, part,  packed,  scale,
                    result,       state, options, Aside{pool, std::move(post), n}};
    Task<Result<Report>> run = is_dense ? run_dense(call) : run_by_entries(call);
    Result<Report> report = co_await std::move(run);
    if (!report) co_return report;
    state.end();
    count_since(*report, before, communicator.counters());
    co_return report;
}

}  // namespace pace::sparse
