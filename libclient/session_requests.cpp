// The life of requests: submission, cancellation, and their end when the daemon is gone.
#include <algorithm>

#include "libclient/session.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using protocol::Order;
using protocol::Verb;

namespace {

// A daemon may die again and again while a verb is called. The caller then gets an error instead of
// waiting.
constexpr int kReconnectsPerCall = 2;

// The reason comes last, because a completion's message has room for some 250 bytes.
constexpr std::string_view kGone =
    "the daemon is gone; the next verb or buffer call reconnects, and the {} {} ({})";

std::string_view contents_text(protocol::WriteState contents) {
    switch (contents) {
        case protocol::WriteState::untouched:
            break;
        case protocol::WriteState::writing:
            return "hold part of the result: make their contents anew";
        case protocol::WriteState::whole:
            return "hold the whole result";
    }
    return "are as they were";
}

// The text for results that go elsewhere. Such a call can be made again in any case.
std::string_view results_text(protocol::WriteState contents) {
    return contents == protocol::WriteState::writing
               ? "hold part of the result: call again, what was given is as it was"
               : contents_text(contents);
}

bool takes_iteration(Verb verb) {
    return verb == Verb::reduce || verb == Verb::average;
}

}  // namespace

Result<> Session::check(const Operation& operation) const {
    // The daemon judges a policy that this library does not know.
    if (job_.policy == nullptr) return check_shape(operation);
    const bool collective = job_.is_of(protocol::Family::collective);
    const bool served = job_.is_of(protocol::Family::server);
    if (is_served(operation.verb) && !served)
        return make_error(ErrorKind::verb,
                          "job \"{}\" has no parameter server; call pace_{}, or use "
                          "PACE_POLICY_SSP",
                          job_.asked.name, collective ? "reduce" : "average");
    if (served && (operation.verb == Verb::average || operation.verb == Verb::reduce))
        return make_error(ErrorKind::verb,
                          "job \"{}\" has a parameter server; call pace_push with updates and "
                          "pace_pull for the model",
                          job_.asked.name);
    if (operation.verb == Verb::average && collective)
        return make_error(ErrorKind::verb,
                          "job \"{}\" has policy all-reduce, whose buffers hold gradients; call "
                          "pace_reduce, or pace_sync to average parameters over all members",
                          job_.asked.name);
    if (operation.verb == Verb::reduce && !collective)
        return make_error(ErrorKind::verb,
                          "job \"{}\" averages in groups, so that its buffers hold parameters; "
                          "call pace_average, or use PACE_POLICY_ALL_REDUCE for gradients",
                          job_.asked.name);
    if (is_local(operation.verb) && !(collective && job_.is_top_k))
        return make_error(ErrorKind::verb,
                          "job \"{}\" has no top-k compression, so that nothing is owed; residuals "
                          "are saved and loaded with compression spardl, topka, topkdsa, gtopk or "
                          "oktopk",
                          job_.asked.name);
    return check_shape(operation);
}

Result<> Session::check_shape(const Operation& operation) const {
    if (operation.verb == Verb::broadcast && operation.root >= job_.asked.world)
        return make_error(ErrorKind::invalid, "root is {}; it must be less than world, which is {}",
                          operation.root, job_.asked.world);
    const bool takes_buffers = protocol::has_buffers(operation.verb);
    if (takes_buffers &&
        (operation.slices.empty() || operation.slices.size() > protocol::kBuffersPerExchangeMax))
        return make_error(ErrorKind::invalid, "count is {}; give 1 to {} slices",
                          operation.slices.size(), protocol::kBuffersPerExchangeMax);
    if (operation.results.empty()) return {};
    if (!protocol::takes_results(operation.verb))
        return make_error(ErrorKind::invalid,
                          "options->call.results is given, but a {} has no result apart from its "
                          "slices; leave them out",
                          protocol::name_of(operation.verb));
    if (operation.keep_local)
        return make_error(ErrorKind::invalid,
                          "options->call.results is given and options->keep_local is 1, whose "
                          "average goes to where the trainer goes on; leave one of them out");
    if (operation.results.size() != operation.slices.size())
        return make_error(ErrorKind::invalid,
                          "options->call.result_count is {}, but count is {}; give a result for "
                          "each slice, or none",
                          operation.results.size(), operation.slices.size());
    return {};
}

Result<RequestHandle> Session::submit(const Operation& operation) {
    PACE_TRY(check_open());
    PACE_TRY(check(operation));
    if (operation.keep_local) {
        PACE_TRY(rehearse(operation));
        PACE_TRY(provide_copies(operation.slices));
    }
    for (int attempt = 0; attempt <= kReconnectsPerCall; ++attempt) {
        {
            std::unique_lock lock(mutex_);
            if (is_connected()) return begin(operation, lock);
        }
        const std::scoped_lock setup(setup_mutex_);
        PACE_TRY(reconnect());
    }
    return make_error(ErrorKind::unavailable,
                      "the daemon at {} dies as soon as the session has reconnected; see its log",
                      endpoint_.text());
}

bool Session::is_connected() {
    if (gone_) return false;
    // The check costs one system call that does not wait. A verb after a long computation thereby
    // reconnects and does not give a request to a daemon that is gone.
    if (!connection_->is_gone()) return true;
    lose(connection_->farewell());
    return false;
}

Result<RequestHandle> Session::begin(const Operation& operation,
                                     std::unique_lock<std::mutex>& lock) {
    PACE_TRY_ASSIGN(request, requests_.begin());
    request->verb = operation.verb;
    request->order = operation.order;
    request->iteration = operation.iteration;
    request->keeps_local = operation.keep_local;
    request->user_data = operation.user_data;
    auto claimed = claim_buffers(operation, *request);
    if (claimed) claimed = order(operation, *request);
    if (!claimed) {
        release_buffers(*request);
        requests_.abandon(*request);
        return std::move(claimed).error();
    }
    const RequestHandle handle = requests_.handle(*request);
    // A request that has ended meanwhile is told like any other end. The request may also be in
    // another place than before.
    const bool is_staged_now = request->stages && request->order == Order::all_at_once;
    const bool copies =
        request->keeps_local || (is_staged_now && protocol::reads_buffers(request->verb));
    if (copies && !copy_buffers(handle.id, lock)) return handle;
    request = requests_.in_flight(handle.id);
    if (auto pushed = push(operation, *request); !pushed) {
        release_buffers(*request);
        requests_.abandon(*request);
        if (pushed.error().kind == ErrorKind::limit) return std::move(pushed).error();
        lose(pushed.error().message);
        return make_error(ErrorKind::unavailable, kGone, "buffers",
                          contents_text(protocol::WriteState::untouched), pushed.error().message);
    }
    return handle;
}

// Claims the elements of slices[number] or of results[number]. No other request in flight may name
// them.
Result<Part> Session::claim(const Slice& slice, std::string_view name, size_t number,
                            const Request& request) {
    PACE_TRY_ASSIGN(buffer, buffers_.find(slice.buffer));
    if (slice.first >= buffer->count)
        return make_error(ErrorKind::invalid, "{}[{}].first is {}, but the buffer has {} elements",
                          name, number, slice.first, buffer->count);
    const uint64_t rest = buffer->count - slice.first;
    const uint64_t count = slice.count == kRest ? rest : slice.count;
    if (count == 0 || count > rest)
        return make_error(ErrorKind::invalid, "{}[{}].count is {}; give 1 to {}, or PACE_REST",
                          name, number, count, rest);
    const Claim claim{request.id, slice.first, count};
    for (const Claim& other : buffer->claims) {
        if (!claim.meets(other)) continue;
        if (other.request == request.id)
            return make_error(ErrorKind::invalid,
                              "{}[{}] is named twice, at least in part; each element counts "
                              "once{}",
                              name, number,
                              name == kResults ? ", and a result in place is asked for by leaving "
                                                 "out options->call.results"
                                               : "");
        return make_error(ErrorKind::invalid,
                          "{}[{}] is named by request {:#x} in flight; wait for that first", name,
                          number, other.request);
    }
    if (is_local(request.verb) && buffer->type != protocol::DType::f32)
        return make_error(ErrorKind::invalid,
                          "{}[{}] is of type {}; a {} takes buffers of type f32", name, number,
                          name_of(buffer->type), name_of(request.verb));
    buffer->claims.push_back(claim);
    return Part{slice.buffer.index, slice.first, count};
}

Result<> Session::claim_buffers(const Operation& operation, Request& request) {
    for (size_t i = 0; i < operation.slices.size(); ++i) {
        PACE_TRY_ASSIGN(part, claim(operation.slices[i], "slices", i, request));
        request.parts.push_back(part);
        ++request.given;
        request.elements += part.count;
    }
    for (size_t i = 0; i < operation.results.size(); ++i) {
        PACE_TRY_ASSIGN(part, claim(operation.results[i], kResults, i, request));
        request.parts.push_back(part);
        PACE_TRY(check_alike(part, request.parts[i], i));
    }
    request.stages = !request.keeps_local &&
                     std::any_of(request.parts.begin(), request.parts.end(), [this](Part part) {
                         return buffers_.at(part.buffer).is_staged();
                     });
    return {};
}

Result<> Session::check_alike(const Part& result, const Part& given, size_t number) const {
    const protocol::DType type = buffers_.at(result.buffer).type;
    const protocol::DType type_given = buffers_.at(given.buffer).type;
    if (type == type_given && result.count == given.count) return {};
    return make_error(ErrorKind::invalid,
                      "{}[{}] has {} elements of type {}, but slices[{}] has {} of type {}; give "
                      "equal ones",
                      kResults, number, result.count, name_of(type), number, given.count,
                      name_of(type_given));
}

void Session::release_buffers(Request& request) {
    for (const Part& part : request.parts)
        std::erase_if(buffers_.at(part.buffer).claims,
                      [&](const Claim& claim) { return claim.request == request.id; });
    request.parts.clear();
    request.given = 0;
}

Result<> Session::push(const Operation& operation, const Request& request) {
    ClientRing& ring = connection_->ring();
    PACE_TRY_ASSIGN(entry, ring.next_submission());
    entry->id = request.id;
    entry->iteration = operation.iteration;
    entry->verb = operation.verb;
    entry->op = operation.op;
    entry->root = operation.root;
    entry->order = operation.order;
    entry->keeps_local = operation.keep_local ? 1 : 0;
    entry->sparse = operation.sparse ? 1 : 0;
    entry->first = operation.first;
    entry->entries = operation.entries;
    entry->slice_count = static_cast<uint16_t>(request.given);
    entry->out_of_place = request.is_out_of_place() ? 1 : 0;
    for (size_t i = 0; i < request.parts.size(); ++i) {
        const Part& part = request.parts[i];
        const Buffer& named = buffers_.at(part.buffer);
        const Buffer& averaged = request.keeps_local ? buffers_.at(named.copy.index) : named;
        const DaemonBuffer& daemon = averaged.daemon;
        entry->slices[i] = {daemon.index, daemon.generation, part.first, part.count};
    }
    // With a descriptor, the daemon tells the end of a request only when the result is there.
    entry->ends_on_host = request.gpu && signal_ ? 1 : 0;
    entry->event = request.gpu ? request.slot() + 1 : 0;
    ring.submit();
    return {};
}

Result<> Session::note(Verb verb, uint64_t iteration) {
    PACE_TRY(check_open());
    if (job_.policy != nullptr && !job_.is_of(protocol::Family::averaging))
        return make_error(ErrorKind::verb,
                          "job \"{}\" has a policy in which nobody averages in groups; leave out "
                          "pace_announce",
                          job_.asked.name);
    const std::scoped_lock lock(mutex_);
    // The next verb reconnects. Until then the note would help nobody.
    if (is_connected()) (void)connection_->ring().note(verb, iteration);
    return {};
}

// Returns what a dead daemon has left in the request's buffers. The daemon never writes the
// trainer's own buffers of an average of copies. Memory of a GPU is copied to after the mark was
// set.
protocol::WriteState Session::contents_left(const Request& request) const {
    using protocol::WriteState;
    if (request.keeps_local) return WriteState::untouched;
    const WriteState state = connection_->ring().written(request.id);
    // Staged memory gets the whole result or nothing.
    const std::span<const Part> written = request.results();
    const bool all_staged =
        request.stages && std::all_of(written.begin(), written.end(), [this](const Part& part) {
            return buffers_.at(part.buffer).is_staged();
        });
    if (all_staged && state == WriteState::writing) return WriteState::untouched;
    return state != WriteState::untouched && request.gpu ? WriteState::writing : state;
}

void Session::lose(std::string_view reason) {
    // Requests that the daemon finished before it died count as finished.
    (void)take_completions();
    gone_ = true;
    connection_->sever();
    requests_.for_each_in_flight([&](Request& request) {
        request.contents = contents_left(request);
        request.end.entry.id = request.id;
        fill_gone(request.end,
                  request.is_out_of_place()
                      ? fmt::format(kGone, "results", results_text(request.contents), reason)
                      : fmt::format(kGone, "buffers", contents_text(request.contents), reason));
        if (request.contents == protocol::WriteState::whole && takes_iteration(request.verb)) {
            request.end.entry.iteration = standing_.iteration = request.iteration;
            ++standing_.rounds;
        }
        end(request);
    });
    collected_.notify_all();
}

Result<> Session::ready(RequestHandle handle, uint64_t elements) {
    PACE_TRY(check_open());
    std::unique_lock lock(mutex_);
    PACE_TRY_ASSIGN(request, requests_.find(handle));
    if (request->order == Order::all_at_once)
        return make_error(
            ErrorKind::invalid,
            "request has no order ({:#x}), so that all of it was ready at the call; set "
            "pace_average_options.order, or leave out pace_request_ready",
            handle.id);
    if (elements > request->elements)
        return make_error(ErrorKind::invalid,
                          "elements is {}, but the buffers of request {:#x} have {} together",
                          elements, handle.id, request->elements);
    if (request->ended || elements <= request->ready || !is_connected()) return {};
    if (request->stages && !copy_ready(*request, elements, lock)) return {};
    PACE_TRY_ASSIGN(request_now, requests_.find(handle));
    request = request_now;
    if (elements <= request->ready) return {};
    PACE_TRY(connection_->ring().note(Verb::ready, elements, handle.id));
    request->ready = elements;
    return {};
}

Result<> Session::cancel(RequestHandle handle) {
    PACE_TRY(check_open());
    std::shared_ptr<Connection> connection;
    {
        const std::scoped_lock lock(mutex_);
        PACE_TRY_ASSIGN(request, requests_.find(handle));
        // A request that has ended cannot be canceled any more. A wait tells how the request ended.
        if (request->ended || !is_connected()) return {};
        connection = connection_;
    }
    return connection->cancel(handle.id);
}

}  // namespace pace::client
