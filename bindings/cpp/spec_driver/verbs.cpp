#include <string>
#include <utility>
#include <vector>

#include "handlers.hpp"

namespace spec {
namespace {

// Reads a slice. "B" is the whole buffer, and "C[2:5]" is the elements 2, 3 and 4.
pace::slice slice_of(const std::string& text, const Objects& objects) {
    const std::size_t bracket = text.find('[');
    const auto buffer = objects.buffers.find(text.substr(0, bracket));
    if (bracket == std::string::npos) return buffer->buffer;
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) throw Broken(text + " is no slice");
    const std::uint64_t first = std::stoull(text.substr(bracket + 1));
    return buffer->buffer.slice(first, std::stoull(text.substr(colon + 1)) - first);
}

std::vector<pace::slice> slices_of(const std::optional<std::string>& list, const Objects& objects) {
    std::vector<pace::slice> slices;
    for (const std::string& part : parts_of(list.value_or("")))
        slices.push_back(slice_of(part, objects));
    return slices;
}

template <class Options>
Options common(const Command& command, Options options = {}) {
    options.iteration = command.count("iteration", 0);
    options.user_data = command.count("user_data", 0);
    return options;
}

pace::order order_of(const Command& command) {
    const std::string word = command.value("order").value_or("");
    if (word == "forward") return pace::order::forward;
    if (word == "backward") return pace::order::backward;
    return pace::order::all_at_call;
}

pace::average_options average_options_of(const Command& command) {
    auto how = common<pace::average_options>(command);
    how.order = order_of(command);
    how.keep_local = command.is_set("keep_local");
    return how;
}

pace::push_options push_options_of(const Command& command) {
    auto how = common<pace::push_options>(command);
    how.is_sparse = command.is_set("sparse");
    how.entries = command.count("entries", 0);
    how.first = command.count("first", 0);
    return how;
}

pace::request begin(const Command& command, pace::session& session,
                    const std::vector<pace::slice>& slices, std::vector<pace::slice> results) {
    const std::string verb = command.verb();
    if (verb == "average") {
        auto how = average_options_of(command);
        how.results = std::move(results);
        return session.average(slices, how);
    }
    if (verb == "reduce") {
        auto how = common<pace::reduce_options>(command);
        how.op = command.value("op").value_or("mean") == "sum" ? pace::op::sum : pace::op::mean;
        how.results = std::move(results);
        return session.reduce(slices, how);
    }
    if (verb == "sync") {
        auto how = common<pace::sync_options>(command);
        how.results = std::move(results);
        return session.sync(slices, how);
    }
    if (!results.empty()) throw Unsupported("the options of " + verb + " have no results");
    if (verb == "broadcast") {
        auto how = common<pace::broadcast_options>(command);
        how.root = static_cast<std::uint32_t>(command.count("root", 0));
        return session.broadcast(slices, how);
    }
    if (verb == "push") return session.push(slices, push_options_of(command));
    if (verb == "pull") {
        auto how = common<pace::pull_options>(command);
        how.first = command.count("first", 0);
        return session.pull(slices, how);
    }
    if (verb == "residual_save")
        return session.residual_save(slices, common<pace::residual_options>(command));
    if (verb == "residual_load")
        return session.residual_load(slices, common<pace::residual_options>(command));
    if (verb == "barrier") return session.barrier(common<pace::plain_options>(command));
    if (verb == "checkpoint") return session.checkpoint(common<pace::plain_options>(command));
    throw Broken("there is no verb " + verb + " for " + std::to_string(slices.size()) + " slices");
}

}  // namespace

std::string begin_verb(const Command& command, Objects& objects) {
    const auto session = objects.sessions.find(command.needed("session"));
    objects.requests.put(command.name(),
                         begin(command, *session, slices_of(command.value("buffers"), objects),
                               slices_of(command.value("results"), objects)));
    return "";
}

}  // namespace spec
