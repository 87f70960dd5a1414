// Test data: members' buffers of random elements, and their all-reduce as all_reduce.h defines it,
// one element at a time.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "base/random.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/kernels/reference.h"

namespace pace::collectives {

using Bytes = std::vector<std::byte>;

// Writes one element; `value` need not be representable.
inline void write_value(protocol::DType dtype, std::byte* data, size_t index, double value) {
    const auto single = static_cast<float>(value);
    switch (dtype) {
        case protocol::DType::f32:
            return kernels::write_element(data, index, single);
        case protocol::DType::f64:
            return kernels::write_element(data, index, value);
        case protocol::DType::f16:
            return kernels::write_element(data, index, base::f16_from_float(single));
        case protocol::DType::bf16:
            return kernels::write_element(data, index, base::bf16_from_float(single));
        case protocol::DType::u32:  // indices are never summed
            break;
    }
}

inline double read_value(protocol::DType dtype, const std::byte* data, size_t index) {
    switch (dtype) {
        case protocol::DType::f32:
            return kernels::read_element<float>(data, index);
        case protocol::DType::f64:
            return kernels::read_element<double>(data, index);
        case protocol::DType::f16:
            return base::float_from_f16(kernels::read_element<uint16_t>(data, index));
        case protocol::DType::bf16:
            return base::float_from_bf16(kernels::read_element<uint16_t>(data, index));
        case protocol::DType::u32:  // indices are never summed
            break;
    }
    return 0;
}

// One worker. There is a buffer per segment, exactly as long as the segment's elements.
struct Worker {
    std::vector<Bytes> segments;
    double weight = 1.0;
};

// Fills every element with value(element number within the worker).
inline Worker make_worker(const Layout& layout, double weight,
                          const std::function<double(size_t)>& value) {
    Worker worker;
    worker.weight = weight;
    size_t number = 0;
    for (const Segment& segment : layout.segments()) {
        Bytes bytes(segment.count * protocol::size_of(segment.dtype));
        for (size_t i = 0; i < segment.count; ++i)
            write_value(segment.dtype, bytes.data(), i, value(number++));
        worker.segments.push_back(std::move(bytes));
    }
    return worker;
}

inline Worker random_worker(const Layout& layout, double weight, base::Random& random) {
    return make_worker(layout, weight, [&random](size_t) { return random.uniform() * 16 - 8; });
}

inline LocalPart local_part(const Layout& layout, const std::vector<Worker>& workers) {
    std::vector<Member> members;
    for (const Worker& worker : workers) {
        Member member;
        member.weight = worker.weight;
        for (const Bytes& segment : worker.segments) member.segments.push_back(segment.data());
        members.push_back(std::move(member));
    }
    return {layout, std::move(members)};
}

// The definition: each contributing node's weighted sum is rounded. The sum of these partials in
// node order is scaled and rounded.
inline Bytes reference_all_reduce(const Layout& layout,
                                  const std::vector<std::vector<Worker>>& nodes, double scale,
                                  const std::vector<bool>& contributes = {}) {
    Bytes result(layout.bytes());
    for (size_t s = 0; s < layout.segments().size(); ++s) {
        const Segment segment = layout.segments()[s];
        const size_t bytes = segment.count * protocol::size_of(segment.dtype);
        std::vector<Bytes> partials;
        std::vector<kernels::Source> sources;
        for (size_t node = 0; node < nodes.size(); ++node) {
            if (!contributes.empty() && !contributes[node]) continue;
            std::vector<kernels::Source> own;
            for (const Worker& worker : nodes[node])
                own.push_back({worker.segments[s].data(), worker.weight});
            if (nodes.size() == 1) {
                sources = own;
                break;
            }
            partials.emplace_back(bytes);
            kernels::reference_sum(segment.dtype, own, 1.0, partials.back().data(), segment.count);
        }
        for (const Bytes& partial : partials) sources.push_back({partial.data(), 1.0});
        kernels::reference_sum(segment.dtype, sources, scale, result.data() + layout.offset(s),
                               segment.count);
    }
    return result;
}

}  // namespace pace::collectives
