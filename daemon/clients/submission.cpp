#include "daemon/clients/submission.h"

#include <algorithm>
#include <functional>

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Verb;

namespace {

// Checks a push of indices and values: there must be as many of each as the push says.
Result<> check_entries(const Request& request) {
    if (request.buffers.size() != 2)
        return base::make_error(ErrorKind::invalid,
                                "a sparse push has {} buffers; give two, indices and values",
                                request.buffers.size());
    if (request.buffers[0]->dtype != protocol::DType::u32 ||
        request.buffers[1]->dtype != protocol::DType::f32)
        return base::make_error(ErrorKind::invalid,
                                "a sparse push has buffers of types {} and {}; give indices of "
                                "type u32 and values of type f32",
                                protocol::name_of(request.buffers[0]->dtype),
                                protocol::name_of(request.buffers[1]->dtype));
    const uint64_t room = std::min(request.buffers[0]->count, request.buffers[1]->count);
    if (request.entries > room)
        return base::make_error(ErrorKind::invalid,
                                "a sparse push says {} entries, but its buffers have room for {}",
                                request.entries, room);
    return {};
}

// Residuals and a parameter server's model are kept in f32.
Result<> check_types(const Request& request) {
    if (request.sparse) return check_entries(request);
    const bool needs_f32 = protocol::is_local(request.verb) || protocol::is_served(request.verb);
    for (size_t i = 0; i < request.buffers.size(); ++i) {
        const protocol::DType type = request.buffers[i]->dtype;
        if (type == protocol::DType::f32) continue;
        if (type == protocol::DType::u32)
            return base::make_error(ErrorKind::invalid,
                                    "buffers[{}] is of type u32, which holds indices of a sparse "
                                    "push; a {} does not take it",
                                    i, protocol::name_of(request.verb));
        if (!needs_f32) continue;
        return base::make_error(ErrorKind::invalid,
                                "buffers[{}] is of type {}; a {} takes buffers of type f32", i,
                                protocol::name_of(type), protocol::name_of(request.verb));
    }
    return {};
}

Result<BufferPtr> find_slice(const protocol::SubmittedSlice& slice, const BufferTable& buffers) {
    PACE_TRY_ASSIGN(buffer, buffers.find(slice.buffer, slice.generation));
    if (slice.first == 0 && slice.count == buffer->count) return buffer;
    if (slice.count == 0 || slice.first >= buffer->count ||
        slice.count > buffer->count - slice.first)
        return base::make_error(ErrorKind::invalid,
                                "{} elements from {} on are not in a buffer of {}", slice.count,
                                slice.first, buffer->count);
    if (buffer->on_device)
        return base::make_error(ErrorKind::invalid,
                                "a buffer on a GPU is taken as a whole, not {} elements of {}",
                                slice.count, buffer->count);
    return part_of(buffer, slice.first, slice.count);
}

Result<> check_apart(const Request& request) {
    std::vector<const Buffer*> sorted;
    for (const BufferPtr& buffer : request.buffers) sorted.push_back(buffer.get());
    for (const BufferPtr& buffer : request.results) sorted.push_back(buffer.get());
    const std::less<> before;
    std::sort(sorted.begin(), sorted.end(), [before](const Buffer* one, const Buffer* other) {
        return before(one->memory.data(), other->memory.data());
    });
    const auto meet = [](const Buffer* one, const Buffer* next) { return do_meet(*one, *next); };
    if (std::adjacent_find(sorted.begin(), sorted.end(), meet) == sorted.end()) return {};
    return base::make_error(ErrorKind::invalid, "one exchange names the same elements twice");
}

// The slices behind those of the contents name the result buffers.
Result<> find_results(const protocol::SubmissionEntry& entry, const BufferTable& buffers,
                      Request& ret_request) {
    if (entry.out_of_place == 0) return {};
    if (entry.out_of_place > 1 || !protocol::takes_results(entry.verb) || entry.keeps_local != 0)
        return base::make_error(ErrorKind::invalid, "out_of_place is {} in a {}{}",
                                static_cast<unsigned>(entry.out_of_place),
                                protocol::name_of(entry.verb),
                                entry.keeps_local != 0 ? " of copies" : "");
    for (size_t i = 0; i < entry.slice_count; ++i) {
        const Buffer& given = *ret_request.buffers[i];
        PACE_TRY_ASSIGN(result, find_slice(entry.slices[entry.slice_count + i], buffers));
        if (result->dtype != given.dtype || result->count != given.count)
            return base::make_error(ErrorKind::invalid,
                                    "results[{}] has {} elements of type {}, but buffers[{}] has "
                                    "{} of type {}",
                                    i, result->count, protocol::name_of(result->dtype), i,
                                    given.count, protocol::name_of(given.dtype));
        ret_request.results.push_back(result);
    }
    ret_request.out_of_place = true;
    return {};
}

// Checks what does not depend on the client's buffers.
Result<> check_entry(const protocol::SubmissionEntry& entry) {
    if (!protocol::is_valid(entry.verb))
        return base::make_error(ErrorKind::invalid, "verb {} is none",
                                static_cast<unsigned>(entry.verb));
    const bool op_known =
        entry.op == protocol::ReduceOp::mean || entry.op == protocol::ReduceOp::sum;
    if (!op_known)
        return base::make_error(ErrorKind::invalid, "op {} is none",
                                static_cast<unsigned>(entry.op));
    const size_t count = entry.slice_count;
    if (count > protocol::kBuffersPerExchangeMax)
        return base::make_error(ErrorKind::invalid,
                                "{} buffers in one exchange; at most {} are allowed", count,
                                protocol::kBuffersPerExchangeMax);
    if (!protocol::has_buffers(entry.verb) && count != 0)
        return base::make_error(ErrorKind::invalid, "a {} takes no buffers, got {}",
                                protocol::name_of(entry.verb), count);
    if (protocol::has_buffers(entry.verb) && count == 0)
        return base::make_error(ErrorKind::invalid, "{} needs at least one buffer",
                                protocol::name_of(entry.verb));

    if (!protocol::is_valid(entry.order) ||
        (entry.order != protocol::Order::all_at_once && entry.verb != Verb::average))
        return base::make_error(ErrorKind::invalid, "order {} is none of a {}",
                                static_cast<unsigned>(entry.order), protocol::name_of(entry.verb));
    return {};
}

}  // namespace

Result<Request> check_submission(const protocol::SubmissionEntry& entry,
                                 const BufferTable& buffers) {
    PACE_TRY(check_entry(entry));
    Request request;
    request.id = entry.id;
    request.verb = entry.verb;
    request.op = entry.op;
    request.root = entry.root;
    request.iteration = entry.iteration;
    request.buffers.reserve(entry.slice_count);
    for (size_t i = 0; i < entry.slice_count; ++i) {
        PACE_TRY_ASSIGN(buffer, find_slice(entry.slices[i], buffers));
        request.elements += buffer->count;
        request.buffers.push_back(buffer);
    }
    if (entry.sparse > 1 || (entry.sparse == 1 && entry.verb != Verb::push))
        return base::make_error(ErrorKind::invalid, "sparse is {} in a {}",
                                static_cast<unsigned>(entry.sparse), protocol::name_of(entry.verb));
    request.sparse = entry.sparse == 1;
    request.first = entry.first;
    request.entries = entry.entries;
    request.order = entry.order;
    request.keeps_local = entry.verb == Verb::average && entry.keeps_local != 0;
    if (entry.order == protocol::Order::all_at_once) request.ready = request.elements;
    PACE_TRY(check_types(request));
    PACE_TRY(find_results(entry, buffers, request));
    PACE_TRY(check_apart(request));
    return request;
}

}  // namespace pace::daemon
