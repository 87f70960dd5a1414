#include "service/controller/core/spectral_gap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace pace::controller {
namespace {

using Vector = std::vector<double>;

void remove_mean(Vector& x) {
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
    for (double& v : x) v -= mean;
}

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// y = E[W] x.
void apply(const std::vector<std::vector<Rank>>& groups, const Vector& x, Vector& ret_y) {
    ret_y = x;
    const double share = 1.0 / static_cast<double>(groups.size());
    for (const std::vector<Rank>& group : groups) {
        double mean = 0;
        for (const Rank rank : group) mean += x[rank];
        mean /= static_cast<double>(group.size());
        for (const Rank rank : group) ret_y[rank] += share * (mean - x[rank]);
    }
}

}  // namespace

double spectral_gap(uint32_t workers, const std::vector<std::vector<Rank>>& groups,
                    uint64_t visits_max) {
    if (workers < 2 || groups.empty()) return 0;
    uint64_t visits = workers;
    for (const auto& group : groups) visits += group.size();

    base::Random random(workers);  // any start that is not orthogonal to the eigenvector will do
    Vector x(workers);
    Vector y(workers);
    for (double& v : x) v = random.uniform();
    remove_mean(x);
    double rho = 0;
    for (uint64_t spent = 0; spent < visits_max; spent += visits) {
        const double norm = std::sqrt(dot(x, x));
        if (norm < 1e-150) return 0;
        for (double& v : x) v /= norm;
        apply(groups, x, y);
        remove_mean(y);
        // The Rayleigh quotient converges twice as fast as the vector; the residual bounds its
        // error.
        rho = dot(x, y);
        double residual = 0;
        for (size_t i = 0; i < x.size(); ++i) residual += (y[i] - rho * x[i]) * (y[i] - rho * x[i]);
        if (residual < 1e-24) break;
        x.swap(y);
    }
    return rho < 1e-14 ? 0 : std::min(rho, 1.0);
}

}  // namespace pace::controller
