#include <exception>
#include <map>
#include <string>

#include "handlers.hpp"

namespace spec {
namespace {

using Handler = std::string (*)(const Command&, Objects&);

std::string free_tensor(const Command& command, Objects& objects) {
    if (!objects.tensors.drop(command.name())) throw Broken("there is no such tensor");
    return "";
}

// The names come from the case. A case gives sessions, buffers and requests different names.
std::string drop(const Command& command, Objects& objects) {
    const std::string name = command.name();
    if (!objects.requests.drop(name) && !objects.buffers.drop(name) && !objects.sessions.drop(name))
        throw Broken("there is nothing called " + name);
    return "";
}

// NOLINTNEXTLINE(readability-function-size): a table of commands
const std::map<std::string, Handler>& handlers() {
    static const std::map<std::string, Handler> all = {
        {"open", open},
        {"info", info},
        {"leave", leave},
        {"free", free_session},
        {"fd", poll_descriptor},
        {"report", report},
        {"fork", fork_child},
        {"announce", announce},
        {"withdraw", withdraw},
        {"buffer", make_buffer},
        {"describe", describe},
        {"free_buffer", free_buffer},
        {"release_buffer", release_buffer},
        {"tensor", make_tensor},
        {"free_tensor", free_tensor},
        {"write", write},
        {"fill", fill},
        {"read", read},
        {"read_tensor", read_tensor},
        {"average", begin_verb},
        {"reduce", begin_verb},
        {"sync", begin_verb},
        {"broadcast", begin_verb},
        {"barrier", begin_verb},
        {"push", begin_verb},
        {"pull", begin_verb},
        {"checkpoint", begin_verb},
        {"residual_save", begin_verb},
        {"residual_load", begin_verb},
        {"wait", wait},
        {"test", test},
        {"next", next},
        {"wait_any", wait_any},
        {"cancel", cancel},
        {"ready", ready},
        {"query", query},
        {"version", version},
        {"name", name},
        {"drop", drop},
    };
    return all;
}

std::string status_of(const pace::failure& why) {
    const std::string argument = why.argument();
    return pace::name(why.status()) + (argument.empty() ? "" : " argument=" + argument);
}

}  // namespace

std::string answer_to(const Command& command, Objects& objects) {
    const auto found = handlers().find(command.verb());
    if (found == handlers().end()) return "broken there is no such command";
    try {
        return "PACE_OK" + found->second(command, objects);
    } catch (const Ended& ended) {
        return status_of(ended.why) + ended.keys;
    } catch (const pace::error& error) {
        return status_of(error.why());
    } catch (const Unsupported& reason) {
        return std::string("unsupported ") + reason.what();
    } catch (const std::exception& reason) {
        return std::string("broken ") + reason.what();
    }
}

}  // namespace spec
