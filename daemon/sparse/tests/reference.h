// reference, for tests: SparDL as the paper describes it. All workers are in one place, without
// messages. Every gradient has a copy, and every selection is a sort. The code is slow and obvious.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "daemon/kernels/scan.h"
#include "daemon/sparse/wire/division.h"
#include "daemon/sparse/wire/options.h"

namespace pace::sparse {

using Chosen = std::map<size_t, float>;

// The k greatest elements, none of them zero. Among equal elements, those with lower indices.
inline Chosen reference_top_k(const Chosen& elements, size_t k) {
    std::vector<std::pair<size_t, float>> order;
    for (const auto& element : elements)
        if (kernels::magnitude_key(element.second) > 0) order.push_back(element);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
        return kernels::magnitude_key(a.second) > kernels::magnitude_key(b.second);
    });
    if (order.size() > k) order.resize(k);
    return {order.begin(), order.end()};
}

inline Chosen elements_of(const std::vector<float>& vector, size_t begin, size_t end) {
    Chosen elements;
    for (size_t i = begin; i < end; ++i) elements[i] = vector[i];
    return elements;
}

struct Reference {
    Chosen total;
    std::vector<std::vector<float>> residuals;
    std::vector<size_t> N;  // B-SAG's entries before the cut, by position
};

class ReferenceSparDL {
  public:
    // `h` is by position and serves B-SAG.
    ReferenceSparDL(std::vector<std::vector<float>> G, double density, size_t d, bool recursive,
                    std::vector<size_t> h, ResidualMode mode)
        : P_(G.size()),
          d_(d),
          recursive_(recursive),
          h_(std::move(h)),
          mode_(mode),
          division_(G[0].size(), P_ / d, density),
          G_copy_(G),
          G_(std::move(G)),
          held_(P_),
          cut_by_(P_) {}

    Reference run() {
        const size_t Q = P_ / d_;
        Reference out;
        reduce_scatter();
        for (size_t w = 0; w < P_; ++w)
            held_[w] = cut(w, w % Q, recursive_ ? block(w % Q).k : h_[w % Q]);
        if (recursive_)
            recursive_doubling();
        else
            out.N = bruck();
        for (size_t position = 0; position < Q; ++position)
            out.total.insert(held_[position].begin(), held_[position].end());
        out.residuals = residuals(out.total);
        return out;
    }

  private:
    Block block(size_t index) const { return division_.block(index); }

    Chosen cut(size_t w, size_t index, size_t k) {
        Chosen chosen =
            reference_top_k(elements_of(G_[w], block(index).begin, block(index).end), k);
        for (const auto& [i, value] : chosen) {
            G_[w][i] = 0;
            cut_by_[w].insert(i);
        }
        return chosen;
    }

    void reduce_scatter() {
        const size_t Q = P_ / d_;
        const size_t l = steps_of(Q);
        for (size_t i = 1; i <= l; ++i) {
            const size_t distance = size_t{1} << (l - i);
            std::vector<Chosen> bags(P_);
            for (size_t w = 0; w < P_; ++w)
                for (const size_t index : bag_of(Q, w % Q, l - i + 1))
                    bags[w].merge(cut(w, index, block(index).k));
            for (size_t w = 0; w < P_; ++w) {
                const size_t target = w / Q * Q + (w % Q + distance) % Q;
                for (const auto& [element, value] : bags[w]) G_[target][element] += value;
            }
        }
    }

    void discard(size_t w, const Chosen& all, const Chosen& kept, size_t holders) {
        if (mode_ != ResidualMode::global) return;
        const size_t team = w / (P_ / d_);
        const size_t begin = block(w % (P_ / d_)).begin;
        for (const auto& [i, value] : all) {
            if (kept.count(i) != 0) continue;
            if (std::has_single_bit(holders))
                G_[w][i] += value / static_cast<float>(holders);
            else if ((i - begin) % holders == team)
                G_[w][i] += value;
        }
    }

    void recursive_doubling() {
        const size_t Q = P_ / d_;
        for (size_t t = 1; t < d_; t *= 2) {
            const std::vector<Chosen> before = held_;
            for (size_t w = 0; w < P_; ++w) {
                Chosen all = before[w];
                for (const auto& [i, value] : before[(w / Q ^ t) * Q + w % Q]) all[i] += value;
                held_[w] = reference_top_k(all, block(w % Q).k);
                discard(w, all, held_[w], 2 * t);
            }
        }
    }

    std::vector<size_t> bruck() {
        const size_t Q = P_ / d_;
        const std::vector<Chosen> before = held_;
        std::vector<size_t> N(Q);
        for (size_t w = 0; w < P_; ++w) {
            Chosen all;
            for (size_t team = 0; team < d_; ++team)
                for (const auto& [i, value] : before[team * Q + w % Q]) all[i] += value;
            N[w % Q] = all.size();
            held_[w] = reference_top_k(all, block(w % Q).k);
            discard(w, all, held_[w], d_);
        }
        return N;
    }

    std::vector<std::vector<float>> residuals(const Chosen& total) const {
        std::vector<std::vector<float>> residuals = G_copy_;
        for (size_t w = 0; w < P_; ++w)
            for (size_t i = 0; i < G_[w].size(); ++i) {
                const bool in_final = total.count(i) != 0;
                const bool cut_here = cut_by_[w].count(i) != 0;
                const bool is_replaced = mode_ == ResidualMode::global    ? in_final
                                         : mode_ == ResidualMode::partial ? in_final && cut_here
                                                                          : cut_here;
                if (is_replaced) residuals[w][i] = G_[w][i];
            }
        return residuals;
    }

    size_t P_;
    size_t d_;
    bool recursive_;
    std::vector<size_t> h_;
    ResidualMode mode_;
    Division division_;
    std::vector<std::vector<float>> G_copy_;
    std::vector<std::vector<float>> G_;  // by worker
    std::vector<Chosen> held_;
    std::vector<std::set<size_t>> cut_by_;
};

}  // namespace pace::sparse
