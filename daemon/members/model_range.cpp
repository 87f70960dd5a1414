#include "daemon/members/model_range.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// Calls visit(memory, count, place in the range) for every piece of [first, first + count).
template <typename Visit>
void for_each_piece(const std::vector<BufferPtr>& buffers, uint64_t first, uint64_t count,
                    Visit&& visit) {
    uint64_t begin = 0;
    for (const BufferPtr& buffer : buffers) {
        const uint64_t end = begin + buffer->count;
        const uint64_t from = std::max(begin, first);
        const uint64_t to = std::min(end, first + count);
        if (from < to)
            visit(buffer->memory.data() + (from - begin) * sizeof(float), to - from, from - first);
        begin = end;
    }
}

}  // namespace

void read_range(const std::vector<BufferPtr>& buffers, uint64_t first, std::span<float> out) {
    for_each_piece(buffers, first, out.size(),
                   [&](const std::byte* memory, uint64_t count, uint64_t place) {
                       std::memcpy(out.data() + place, memory, count * sizeof(float));
                   });
}

void write_range(const std::vector<BufferPtr>& buffers, uint64_t first,
                 std::span<const float> elements) {
    for_each_piece(buffers, first, elements.size(),
                   [&](std::byte* memory, uint64_t count, uint64_t place) {
                       std::memcpy(memory, elements.data() + place, count * sizeof(float));
                   });
}

Result<> check_range(const Request& request, uint64_t elements) {
    // Pushes and pulls were checked when they came in; a pace_broadcast takes other types unless it
    // is a pull.
    for (size_t i = 0; i < request.buffers.size(); ++i) {
        const protocol::DType type = request.buffers[i]->dtype;
        if (request.sparse || type == protocol::DType::f32) continue;
        return base::make_error(ErrorKind::invalid,
                                "buffers[{}] is of type {}; the model of a parameter server is of "
                                "type f32",
                                i, protocol::name_of(type));
    }
    if (request.first <= elements && request.elements <= elements - request.first) return {};
    return base::make_error(
        ErrorKind::invalid, "a {} of {} elements from {} on is not within the model, which has {}",
        protocol::name_of(request.verb), request.elements, request.first, elements);
}

Result<sparse::Entries> entries_of(const Request& request, uint64_t elements) {
    sparse::Entries entries;
    if (request.first != 0)
        return base::make_error(ErrorKind::invalid,
                                "first is {} in a sparse push, whose indices count from the "
                                "model's begin; leave it 0",
                                request.first);
    if (request.entries == 0) return entries;
    const std::byte* indices_untrusted = request.buffers[0]->memory.data();
    entries.indices.resize(request.entries);
    entries.values.resize(request.entries);
    std::memcpy(entries.indices.data(), indices_untrusted, request.entries * sizeof(uint32_t));
    std::memcpy(entries.values.data(), request.buffers[1]->memory.data(),
                request.entries * sizeof(float));
    const auto& indices = entries.indices;
    const auto unsorted =
        std::adjacent_find(indices.begin(), indices.end(), std::greater_equal<>());
    if (unsorted != indices.end())
        return base::make_error(ErrorKind::invalid,
                                "index {} follows {} at place {}; indices must rise, each once",
                                *(unsorted + 1), *unsorted, unsorted + 1 - indices.begin());
    if (indices.back() >= elements)
        return base::make_error(ErrorKind::invalid,
                                "index {} is not within the model, which has {} elements",
                                indices.back(), elements);
    return entries;
}

}  // namespace pace::daemon
