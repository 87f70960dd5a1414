#include "libclient/memory/local_progress.h"

#include <cstring>

#include "base/half.h"
#include "libclient/memory/pieces.h"

namespace pace::client {

using protocol::DType;

namespace {

// All pointers are aligned for T. The buffers are mapped at page boundaries. The trainer's own
// memory is aligned for its type. Snapshots are allocated with the alignment of max_align_t.
template <typename T>
T* as(std::byte* bytes) {
    return reinterpret_cast<T*>(bytes);
}

template <typename T>
void add_numbers(const KeptBuffer& buffer, uint64_t begin, uint64_t end) {
    T* data = as<T>(buffer.data);
    const T* average = as<const T>(buffer.copy);
    const T* snapshot = as<const T>(buffer.snapshot);
    for (uint64_t i = begin; i < end; ++i) {
        const T moved = data[i] + (average[i] - snapshot[i]);
        data[i] = data[i] == snapshot[i] ? average[i] : moved;
    }
}

template <typename Widen, typename Narrow>
void add_halves(const KeptBuffer& buffer, uint64_t begin, uint64_t end, Widen widen,
                Narrow narrow) {
    auto* data = as<uint16_t>(buffer.data);
    const auto* average = as<const uint16_t>(buffer.copy);
    const auto* snapshot = as<const uint16_t>(buffer.snapshot);
    for (uint64_t i = begin; i < end; ++i) {
        const float moved = widen(data[i]) + (widen(average[i]) - widen(snapshot[i]));
        data[i] = data[i] == snapshot[i] ? average[i] : narrow(moved);
    }
}

}  // namespace

void take_copy(const KeptBuffer& buffer) {
    const size_t bytes = buffer.count * size_of(buffer.type);
    std::memcpy(buffer.snapshot, buffer.data, bytes);
    // Copies the snapshot and not the data. If the trainer writes the data during the call, both
    // copies still agree.
    std::memcpy(buffer.copy, buffer.snapshot, bytes);
}

void add_change(const KeptBuffer& buffer, uint64_t begin, uint64_t end) {
    switch (buffer.type) {
        case DType::f32:
            return add_numbers<float>(buffer, begin, end);
        case DType::f64:
            return add_numbers<double>(buffer, begin, end);
        case DType::f16:
            return add_halves(buffer, begin, end, base::float_from_f16, base::f16_from_float);
        case DType::bf16:
            return add_halves(buffer, begin, end, base::float_from_bf16, base::bf16_from_float);
        case DType::u32:  // indices, which nobody adds up
            break;
    }
}

uint64_t add_change(std::span<const KeptBuffer> buffers, uint64_t first, uint64_t count) {
    return for_piece(buffers, first, count,
                     [](const KeptBuffer& buffer, uint64_t begin, uint64_t end) {
                         add_change(buffer, begin, end);
                     });
}

}  // namespace pace::client
