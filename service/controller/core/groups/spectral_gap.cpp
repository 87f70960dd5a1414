#include "service/controller/core/groups/spectral_gap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace pace::controller {
namespace {

using Vector = std::vector<double>;
using RankGroups = std::vector<std::vector<Rank>>;

bool are_connected(uint32_t workers, const RankGroups& groups) {
    std::vector<Rank> parent(workers);
    std::iota(parent.begin(), parent.end(), Rank{0});
    const auto root = [&parent](Rank rank) {
        while (parent[rank] != rank) rank = parent[rank] = parent[parent[rank]];
        return rank;
    };
    uint32_t components = workers;
    for (const std::vector<Rank>& group : groups) {
        for (const Rank rank : group) {
            const Rank a = root(rank);
            const Rank b = root(group.front());
            if (a == b) continue;
            parent[a] = b;
            --components;
        }
    }
    return components == 1;
}

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void remove_mean(Vector& x) {
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
    for (double& v : x) v -= mean;
}

// Scales x to length 1 and returns its previous length; leaves x unchanged if this is (nearly)
// zero.
double normalize(Vector& x) {
    const double length = std::sqrt(dot(x, x));
    if (length < 1e-12) return 0;
    for (double& v : x) v /= length;
    return length;
}

// y = L x, where L is the sum of I - W over the groups: E[W] = I - L / |groups|.
void apply(const RankGroups& groups, const Vector& x, Vector& ret_y) {
    std::fill(ret_y.begin(), ret_y.end(), 0.0);
    for (const std::vector<Rank>& group : groups) {
        double mean = 0;
        for (const Rank rank : group) mean += x[rank];
        mean /= static_cast<double>(group.size());
        for (const Rank rank : group) ret_y[rank] += x[rank] - mean;
    }
}

// A symmetric tridiagonal matrix; beta[i] couples i and i + 1.
struct Tridiagonal {
    Vector alpha;
    Vector beta;

    // Whether an eigenvalue is below x (a negative pivot of the matrix minus x; Sturm).
    bool has_eigenvalue_below(double x) const {
        double pivot = alpha[0] - x;
        for (size_t i = 1; i < alpha.size() && pivot >= 0; ++i) {
            pivot = alpha[i] - x - beta[i - 1] * beta[i - 1] / std::max(pivot, 1e-300);
        }
        return pivot < 0;
    }

    // By bisection. The matrix is positive semidefinite, so that its least eigenvalue lies between
    // 0 and its least diagonal element.
    double least_eigenvalue() const {
        double low = 0;
        double high = *std::min_element(alpha.begin(), alpha.end());
        for (int i = 0; i < 100 && low < high; ++i) {
            const double middle = low + (high - low) / 2;
            (has_eigenvalue_below(middle) ? high : low) = middle;
        }
        return high;
    }
};

// Lanczos on L, on vectors with zero mean: the extreme eigenvalues converge first. It omits
// reorthogonalization, which only produces copies of eigenvalues already found.
Tridiagonal lanczos(uint32_t workers, const RankGroups& groups, uint64_t steps_max) {
    base::Random random(workers);  // any start not orthogonal to the eigenvector works
    Vector before(workers, 0.0);
    Vector x(workers);
    Vector y(workers);
    for (double& v : x) v = random.uniform();
    remove_mean(x);
    normalize(x);
    Tridiagonal t;
    for (uint64_t step = 0;; ++step) {
        apply(groups, x, y);
        t.alpha.push_back(dot(x, y));
        if (step + 1 >= steps_max) return t;
        const double last = t.beta.empty() ? 0 : t.beta.back();
        for (size_t i = 0; i < y.size(); ++i) y[i] -= t.alpha.back() * x[i] + last * before[i];
        remove_mean(y);
        const double beta = normalize(y);
        if (beta == 0) return t;  // everything in the start vector is found
        t.beta.push_back(beta);
        before.swap(x);
        x.swap(y);
    }
}

}  // namespace

double spectral_gap(uint32_t workers, const RankGroups& groups, uint64_t visits_max) {
    if (workers < 2 || groups.empty()) return 0;
    if (!are_connected(workers, groups)) return 1;
    uint64_t visits = workers;
    for (const std::vector<Rank>& group : groups) visits += group.size();
    // Twice as many steps as eigenvalues find all of them, despite rounding.
    const uint64_t steps = std::clamp<uint64_t>(visits_max / visits, 1, 2 * uint64_t{workers} + 20);
    const double least = lanczos(workers, groups, steps).least_eigenvalue();
    const double rho = 1 - least / static_cast<double>(groups.size());
    return rho < 1e-12 ? 0 : std::min(rho, 1.0);
}

}  // namespace pace::controller
