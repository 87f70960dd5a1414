#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "handlers.hpp"

namespace spec {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& digits) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(at, 2), nullptr, 16)));
    return bytes;
}

pace::option option_of(const std::string& kind, const std::string& name, const std::string& value) {
    if (kind == "int") return pace::option(name, std::stoll(value));
    if (kind == "real") return pace::option(name, std::stod(value));
    if (kind == "text") return pace::option(name, value);
    if (kind == "bytes") return pace::option::bytes(name, bytes_of(value));
    throw Broken("there is no kind of option called " + kind);
}

// Reads options like "int:group.size=2" and "hint-int:no.such=1".
std::vector<pace::option> options_of(const Command& command) {
    const std::string hint = "hint-";
    std::vector<pace::option> options;
    for (const std::string& word : command.words()) {
        const std::size_t colon = word.find(':');
        const std::size_t equal = word.find('=');
        if (colon == std::string::npos || equal == std::string::npos || equal < colon) continue;
        std::string kind = word.substr(0, colon);
        const bool is_hint = kind.compare(0, hint.size(), hint) == 0;
        if (is_hint) kind.erase(0, hint.size());
        const pace::option option =
            option_of(kind, word.substr(colon + 1, equal - colon - 1), word.substr(equal + 1));
        options.push_back(is_hint ? option.as_hint() : option);
    }
    return options;
}

const char* word_of(pace::run_state state) {
    switch (state) {
        case pace::run_state::is_new:
            return "new";
        case pace::run_state::under_way:
            return "under_way";
        case pace::run_state::resumed:
            return "resumed";
    }
    return "?";
}

}  // namespace

std::string open(const Command& command, Objects& objects) {
    pace::session_options where;
    where.job = command.value("job").value_or("");
    where.policy = command.value("policy").value_or("");
    where.rank = static_cast<std::uint32_t>(command.count("rank", 0));
    where.world = static_cast<std::uint32_t>(command.count("world", 0));
    where.options = options_of(command);
    where.endpoint = command.value("endpoint");
    where.run = command.value("run");
    where.connect_timeout = std::chrono::milliseconds(command.integer("connect_ms", 10000));
    where.resume = command.is_set("resume");
    const auto session = objects.sessions.put(command.name(), pace::session(where));
    const pace::session_info told = session->info();
    return " rank=" + std::to_string(told.rank) + " world=" + std::to_string(told.world);
}

std::string info(const Command& command, Objects& objects) {
    const pace::session_info told = objects.sessions.find(command.name())->info();
    return " rank=" + std::to_string(told.rank) + " world=" + std::to_string(told.world) +
           " run_state=" + word_of(told.joined()) +
           " generation=" + std::to_string(told.generation) + " job=" + told.job +
           " node=" + told.node + " run=" + told.run;
}

std::string leave(const Command& command, Objects& objects) {
    objects.sessions.find(command.name())
        ->leave(std::chrono::milliseconds(command.integer("timeout_ms", 1000)));
    return "";
}

std::string free_session(const Command& command, Objects& objects) {
    objects.sessions.find(command.name())->free();
    objects.sessions.drop(command.name());
    return "";
}

std::string report(const Command& command, Objects& objects) {
    pace::progress told;
    if (const auto loss = command.value("loss")) told.loss = std::stod(*loss);
    if (const auto rate = command.value("samples_per_s")) told.samples_per_s = std::stod(*rate);
    if (const auto total = command.value("steps_total"))
        told.steps = {static_cast<std::uint64_t>(command.integer("steps_done", 0)),
                      std::stoull(*total)};
    objects.sessions.find(command.name())->report(told);
    return "";
}

std::string poll_descriptor(const Command& command, Objects& objects) {
    pollfd polled = {objects.sessions.find(command.name())->descriptor(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(command.integer("timeout_ms", 0)));
    return ready > 0 ? " readable=1" : " readable=0";
}

std::string fork_child(const Command& command, Objects& objects) {
    const auto session = objects.sessions.find(command.name());
    int ends[2];
    if (::pipe(ends) != 0) throw Broken("there is no pipe to be had");
    const pid_t child = ::fork();
    if (child == 0) {
        const pace::status told = session->barrier(pace::nothrow).status();
        const bool is_said = ::write(ends[1], &told, sizeof(told)) == sizeof(told);
        ::_exit(is_said ? 0 : 1);  // style: allow ending, because a forked child ends here
    }
    pace::status told = pace::status::ok;
    ::close(ends[1]);
    const bool is_told = child > 0 && ::read(ends[0], &told, sizeof(told)) == sizeof(told);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    if (!is_told) throw Broken("the child has said nothing");
    return std::string(" child=") + pace::name(told);
}

std::string announce(const Command& command, Objects& objects) {
    objects.sessions.find(command.name())->announce(command.count("iteration", 0));
    return "";
}

std::string withdraw(const Command& command, Objects& objects) {
    objects.sessions.find(command.name())->withdraw();
    return "";
}

}  // namespace spec
