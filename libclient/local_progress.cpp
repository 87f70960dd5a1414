#include "libclient/local_progress.h"

#include <cstring>

#include "base/half.h"

namespace pace::client {

using protocol::DType;

namespace {

// The buffers are mapped at page boundaries, snapshots allocated as max_align_t wants it.
template <typename T>
T* as(std::byte* bytes) {
    return reinterpret_cast<T*>(bytes);
}

template <typename T>
void add_numbers(const KeptBuffer& buffer) {
    T* data = as<T>(buffer.data);
    const T* average = as<const T>(buffer.copy);
    const T* snapshot = as<const T>(buffer.snapshot);
    for (uint64_t i = 0; i < buffer.count; ++i) {
        const T moved = data[i] + (average[i] - snapshot[i]);
        data[i] = data[i] == snapshot[i] ? average[i] : moved;
    }
}

template <typename Widen, typename Narrow>
void add_halves(const KeptBuffer& buffer, Widen widen, Narrow narrow) {
    auto* data = as<uint16_t>(buffer.data);
    const auto* average = as<const uint16_t>(buffer.copy);
    const auto* snapshot = as<const uint16_t>(buffer.snapshot);
    for (uint64_t i = 0; i < buffer.count; ++i) {
        const float moved = widen(data[i]) + (widen(average[i]) - widen(snapshot[i]));
        data[i] = data[i] == snapshot[i] ? average[i] : narrow(moved);
    }
}

}  // namespace

void take_copy(const KeptBuffer& buffer) {
    const size_t bytes = buffer.count * size_of(buffer.type);
    std::memcpy(buffer.snapshot, buffer.data, bytes);
    // Of the snapshot: whoever writes the data all the same costs itself no more than that.
    std::memcpy(buffer.copy, buffer.snapshot, bytes);
}

void add_change(const KeptBuffer& buffer) {
    switch (buffer.type) {
        case DType::f32:
            return add_numbers<float>(buffer);
        case DType::f64:
            return add_numbers<double>(buffer);
        case DType::f16:
            return add_halves(buffer, base::float_from_f16, base::f16_from_float);
        case DType::bf16:
            return add_halves(buffer, base::float_from_bf16, base::bf16_from_float);
        case DType::u32:  // indices, which nobody adds up
            break;
    }
}

}  // namespace pace::client
