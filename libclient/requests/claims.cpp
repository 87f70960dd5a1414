#include "libclient/requests/claims.h"

#include <algorithm>
#include <string_view>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// The range of elements that the slice names.
Result<Part> part_of(const Slice& slice, const Buffer& buffer, std::string_view name,
                     size_t number) {
    if (slice.first >= buffer.count)
        return make_error(ErrorKind::invalid, "{}[{}].first is {}, but the buffer has {} elements",
                          name, number, slice.first, buffer.count);
    const uint64_t rest = buffer.count - slice.first;
    const uint64_t count = slice.count == kRest ? rest : slice.count;
    if (count == 0 || count > rest)
        return make_error(ErrorKind::invalid, "{}[{}].count is {}; give 1 to {}, or PACE_REST",
                          name, number, count, rest);
    return Part{slice.buffer.index, slice.first, count};
}

Result<> check_is_free(const Claim& claim, const Buffer& buffer, std::string_view name,
                       size_t number) {
    const auto other = std::find_if(buffer.claims.begin(), buffer.claims.end(),
                                    [&](const Claim& one) { return claim.meets(one); });
    if (other == buffer.claims.end()) return {};
    if (other->request != claim.request)
        return make_error(ErrorKind::invalid,
                          "{}[{}] is named by request {:#x} in flight; wait for that first", name,
                          number, other->request);
    return make_error(ErrorKind::invalid,
                      "{}[{}] is named twice, at least in part; each element counts "
                      "once{}",
                      name, number,
                      name == kResults ? ", and a result in place is asked for by leaving "
                                         "out options->call.results"
                                       : "");
}

// Claims the elements of slices[number] or of results[number].
Result<Part> claim_one(BufferTable& buffers, const Slice& slice, std::string_view name,
                       size_t number, const Request& request) {
    PACE_TRY_ASSIGN(buffer, buffers.find(slice.buffer));
    PACE_TRY_ASSIGN(part, part_of(slice, *buffer, name, number));
    const Claim claim{request.id, part.first, part.count};
    PACE_TRY(check_is_free(claim, *buffer, name, number));
    if (is_local(request.verb) && buffer->type != protocol::DType::f32)
        return make_error(ErrorKind::invalid,
                          "{}[{}] is of type {}; a {} takes buffers of type f32", name, number,
                          name_of(buffer->type), name_of(request.verb));
    buffer->claims.push_back(claim);
    return part;
}

Result<> check_alike(const BufferTable& buffers, const Part& result, const Part& given,
                     size_t number) {
    const protocol::DType type = buffers.at(result.buffer).type;
    const protocol::DType type_given = buffers.at(given.buffer).type;
    if (type == type_given && result.count == given.count) return {};
    return make_error(ErrorKind::invalid,
                      "{}[{}] has {} elements of type {}, but slices[{}] has {} of type {}; give "
                      "equal ones",
                      kResults, number, result.count, name_of(type), number, given.count,
                      name_of(type_given));
}

Result<> check_stream(const Operation& operation, const Gpu* gpu) {
    if (!operation.after) return {};
    if (gpu == nullptr)
        return make_error(
            ErrorKind::invalid,
            "options->call.device is GPU {}, but the call names no buffer there; leave "
            "device and stream out",
            operation.after->ordinal);
    if (operation.after->ordinal == gpu->ordinal()) return {};
    return make_error(
        ErrorKind::invalid,
        "options->call.device is GPU {}, but the buffers are on GPU {}; give a stream of "
        "that",
        operation.after->ordinal, gpu->ordinal());
}

}  // namespace

Result<> claim(BufferTable& buffers, const Operation& operation, Request& request) {
    for (size_t i = 0; i < operation.slices.size(); ++i) {
        PACE_TRY_ASSIGN(part, claim_one(buffers, operation.slices[i], "slices", i, request));
        request.parts.push_back(part);
        ++request.given;
        request.elements += part.count;
    }
    for (size_t i = 0; i < operation.results.size(); ++i) {
        PACE_TRY_ASSIGN(part, claim_one(buffers, operation.results[i], kResults, i, request));
        request.parts.push_back(part);
        PACE_TRY(check_alike(buffers, part, request.parts[i], i));
    }
    request.stages = !request.keeps_local &&
                     std::any_of(request.parts.begin(), request.parts.end(), [&](const Part& part) {
                         return buffers.at(part.buffer).is_staged();
                     });
    return {};
}

void release_claims(BufferTable& buffers, Request& request) {
    for (const Part& part : request.parts)
        std::erase_if(buffers.at(part.buffer).claims,
                      [&](const Claim& claim) { return claim.request == request.id; });
    request.parts.clear();
    request.given = 0;
}

Result<Gpu*> common_gpu(const BufferTable& buffers, const Operation& operation,
                        const Request& request) {
    Gpu* gpu = nullptr;
    for (size_t i = 0; i < request.parts.size(); ++i) {
        const bool is_given = i < request.given;
        const std::string_view name = is_given ? "slices" : kResults;
        const size_t number = is_given ? i : i - request.given;
        const Buffer& buffer = buffers.at(request.parts[i].buffer);
        if (i == 0) gpu = buffer.gpu();
        if (buffer.gpu() != gpu)
            return make_error(ErrorKind::invalid,
                              "{}[{}] is not where slices[0] is: the buffers of one call are "
                              "all on one GPU, or all on the host",
                              name, number);
        if (gpu != nullptr && request.parts[i].count != buffer.count)
            return make_error(ErrorKind::invalid,
                              "{}[{}] is a part of a buffer on a GPU; a call takes such a "
                              "buffer as a whole",
                              name, number);
    }
    PACE_TRY(check_stream(operation, gpu));
    return gpu;
}

}  // namespace pace::client
