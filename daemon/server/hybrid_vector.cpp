#include "daemon/server/hybrid_vector.h"

#include <algorithm>
#include <utility>

#include "daemon/kernels/reduce.h"

namespace pace::server {
namespace {

// Additions are combined when they are as many as the entries to which they are added. So each
// element is moved a logarithmic number of times. Few additions are not worth combining.
constexpr size_t kAddedMin = 4096;

constexpr bool is_half(size_t entries, size_t length) {
    return 2 * entries >= length;
}

void scatter(const sparse::Entries& entries, float* out) {
    for (size_t i = 0; i < entries.size(); ++i) out[entries.indices[i]] += entries.values[i];
}

void accumulate(std::span<const float> elements, float rate, float* out) {
    const kernels::Source sources[] = {
        {reinterpret_cast<const std::byte*>(out), 1.0},
        {reinterpret_cast<const std::byte*>(elements.data()), static_cast<double>(rate)}};
    kernels::weighted_sum(protocol::DType::f32, sources, 1.0, reinterpret_cast<std::byte*>(out),
                          elements.size());
}

// An entry of one of several lists.
struct Place {
    uint32_t index;
    uint32_t list;
    float value;
};

// Sorts all lists' entries at once. Merging neighboring lists pairwise would change the order in
// which an element's values are added.
std::vector<Place> sorted(const std::vector<sparse::Entries>& lists, size_t count) {
    std::vector<Place> places;
    places.reserve(count);
    for (size_t list = 0; list < lists.size(); ++list)
        for (size_t i = 0; i < lists[list].size(); ++i)
            places.push_back(
                {lists[list].indices[i], static_cast<uint32_t>(list), lists[list].values[i]});
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
        return a.index != b.index ? a.index < b.index : a.list < b.list;
    });
    return places;
}

// Adds the sorted places' values to the entries, one after the other.
sparse::Entries merged(const sparse::Entries& entries, const std::vector<Place>& places) {
    sparse::Entries all;
    all.reserve(entries.size() + places.size());
    size_t old = 0;
    for (size_t i = 0; i < places.size();) {
        const uint32_t index = places[i].index;
        const auto next = std::lower_bound(entries.indices.begin() + static_cast<long>(old),
                                           entries.indices.end(), index);
        const auto until = static_cast<size_t>(next - entries.indices.begin());
        all.append(entries.indices.data() + old, entries.values.data() + old, until - old);
        old = until;
        float sum = 0;
        bool begun = false;
        if (old < entries.size() && entries.indices[old] == index) {
            sum = entries.values[old++];
            begun = true;
        }
        for (; i < places.size() && places[i].index == index; ++i) {
            sum = begun ? sum + places[i].value : places[i].value;
            begun = true;
        }
        all.push_back(index, sum);
    }
    all.append(entries.indices.data() + old, entries.values.data() + old, entries.size() - old);
    return all;
}

}  // namespace

HybridVector HybridVector::of(std::span<const float> elements) {
    HybridVector vector(elements.size());
    const auto zeros = static_cast<size_t>(std::count(elements.begin(), elements.end(), 0.0F));
    const size_t there = elements.size() - zeros;
    if (is_half(there, elements.size())) {
        vector.dense_.assign(elements.begin(), elements.end());
        return vector;
    }
    vector.entries_.reserve(there);
    for (size_t i = 0; i < elements.size(); ++i)
        if (elements[i] != 0.0F) vector.entries_.push_back(static_cast<uint32_t>(i), elements[i]);
    return vector;
}

HybridVector HybridVector::of(size_t length, sparse::Entries entries) {
    HybridVector vector(length);
    vector.entries_ = std::move(entries);
    if (length > 0 && is_half(vector.entries_.size(), length)) vector.become_dense();
    return vector;
}

size_t HybridVector::bytes() const {
    if (is_dense()) return length_ * sizeof(float);
    return size() * (sizeof(uint32_t) + sizeof(float));
}

void HybridVector::become_dense() {
    dense_.assign(length_, 0.0F);
    scatter(entries_, dense_.data());
    for (const sparse::Entries& added : added_) scatter(added, dense_.data());
    entries_ = {};
    added_ = {};
    added_entries_ = 0;
}

void HybridVector::add(const HybridVector& other) {
    if (other.is_dense() && !is_dense()) become_dense();
    if (is_dense()) {
        add_dense(other);
        return;
    }
    if (!other.entries_.empty()) added_.push_back(other.entries_);
    added_.insert(added_.end(), other.added_.begin(), other.added_.end());
    added_entries_ += other.size();
    if (added_entries_ >= std::max(entries_.size(), kAddedMin)) settle();
}

void HybridVector::add_dense(const HybridVector& other) {
    if (other.is_dense()) {
        accumulate(other.dense_, 1.0F, dense_.data());
        return;
    }
    scatter(other.entries_, dense_.data());
    for (const sparse::Entries& added : other.added_) scatter(added, dense_.data());
}

void HybridVector::settle() {
    if (added_.empty()) return;
    entries_ = merged(entries_, sorted(added_, added_entries_));
    added_.clear();
    added_entries_ = 0;
    if (is_half(entries_.size(), length_)) become_dense();
}

void HybridVector::add_to(std::span<float> out, double rate, size_t first) const {
    const auto factor = static_cast<float>(rate);
    if (is_dense()) {
        accumulate(std::span(dense_).subspan(first, out.size()), factor, out.data());
        return;
    }
    const auto begin = std::lower_bound(entries_.indices.begin(), entries_.indices.end(), first);
    for (auto i = static_cast<size_t>(begin - entries_.indices.begin());
         i < entries_.size() && entries_.indices[i] < first + out.size(); ++i) {
        const float product = factor * entries_.values[i];
        out[entries_.indices[i] - first] += product;
    }
}

}  // namespace pace::server
