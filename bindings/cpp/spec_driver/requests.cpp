#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handlers.hpp"

namespace spec {
namespace {

const char* word_of(pace::contents contents) {
    switch (contents) {
        case pace::contents::as_called:
            return "as_called";
        case pace::contents::torn:
            return "torn";
        case pace::contents::result:
            return "result";
    }
    return "?";
}

// Writes the keys of an info.
std::string told_of(const pace::request_info& info) {
    const auto key = [](const char* name, std::uint64_t value) {
        return std::string(" ") + name + "=" + std::to_string(value);
    };
    return key("iteration", info.iteration) + key("user_data", info.user_data) +
           key("group", info.group) + key("round", info.round) + key("version", info.version) +
           key("member_count", info.member_count) + key("node_count", info.node_count) +
           key("contributor_count", info.contributor_count) +
           " divisor=" + text_of(info.divisor, 17) + key("rounds", info.rounds) +
           key("entries", info.entries) + key("late", info.late) + key("resync", info.resync) +
           key("dense", info.dense) + key("staleness", info.staleness) +
           key("slowest_clock", info.slowest_clock) + " contents=" + word_of(info.buffers_hold());
}

// How a command waits. The object has room for the members.
class Waiting {
  public:
    explicit Waiting(const Command& command) {
        options_.local_iteration = command.count("local_iteration", 0);
        options_.signals = command.is_set("signals");
        options_.members = members_;
        timeout_ms_ = command.integer("timeout_ms", PACE_FOREVER);
        if (timeout_ms_ < PACE_FOREVER)
            throw Unsupported("a negative time counts as none, as for std::future");
    }
    bool is_for_ever() const { return timeout_ms_ == PACE_FOREVER; }
    std::chrono::milliseconds time() const { return std::chrono::milliseconds(timeout_ms_); }
    const pace::wait_options& options() const { return options_; }

    // Returns the text for an end that is OK. Throws for any other end.
    std::string end(const pace::result<pace::request_info>& end) const {
        if (end) return with_members(*end);
        if (end.error().has_ended()) throw Ended{end.error(), with_members(end.error().info())};
        pace::raise(end.error());
    }

  private:
    std::string with_members(const pace::request_info& info) const {
        std::string ranks;
        std::string weights;
        for (std::size_t at = 0; at < info.member_listed; ++at) {
            ranks += (at == 0 ? " members=" : ",") + std::to_string(members_[at].rank);
            weights += (at == 0 ? " weights=" : ",") + text_of(members_[at].weight, 17);
        }
        return told_of(info) + ranks + weights;
    }

    std::array<pace::member, pace::members_max> members_{};
    pace::wait_options options_;
    std::int64_t timeout_ms_;
};

}  // namespace

std::string wait(const Command& command, Objects& objects) {
    const auto request = objects.requests.find(command.name());
    const Waiting how(command);
    if (how.is_for_ever()) return how.end(request->wait(pace::nothrow, how.options()));
    return how.end(request->wait_for(pace::nothrow, how.time(), how.options()));
}

std::string test(const Command& command, Objects& objects) {
    const auto request = objects.requests.find(command.name());
    const Waiting how(command);
    return how.end(request->test(pace::nothrow, how.options()));
}

std::string next(const Command& command, Objects& objects) {
    const auto session = objects.sessions.find(command.name());
    const Waiting how(command);
    pace::completion found =
        (how.is_for_ever() ? session->next(pace::nothrow, how.options())
                           : session->next_for(pace::nothrow, how.time(), how.options()))
            .value();
    const std::string name = objects.requests.name_of(
        [&](const pace::request& request) { return found.is_of(request); });
    try {
        return how.end(found.end()) + " request=" + name;
    } catch (Ended& ended) {
        ended.keys += " request=" + name;
        throw;
    }
}

std::string wait_any(const Command& command, Objects& objects) {
    const std::vector<std::string> names = parts_of(command.needed("requests"));
    std::vector<std::shared_ptr<pace::request>> held;
    std::vector<pace::request> wanted;
    for (const std::string& name : names) held.push_back(objects.requests.find(name));
    for (const auto& request : held) wanted.push_back(std::move(*request));
    const std::int64_t timeout_ms = command.integer("timeout_ms", PACE_FOREVER);
    pace::result<pace::ended> found =
        timeout_ms == PACE_FOREVER
            ? pace::wait_any(pace::nothrow, wanted)
            : pace::wait_any_for(pace::nothrow, wanted, std::chrono::milliseconds(timeout_ms));
    for (std::size_t at = 0; at < held.size(); ++at) *held[at] = std::move(wanted[at]);
    const pace::ended& one = found.value();
    const std::string request = " request=" + names[one.index];
    try {
        return Waiting(command).end(one.end) + request;
    } catch (Ended& ended) {
        ended.keys += request;
        throw;
    }
}

std::string cancel(const Command& command, Objects& objects) {
    objects.requests.find(command.name())->cancel();
    return "";
}

std::string ready(const Command& command, Objects& objects) {
    objects.requests.find(command.name())->ready(command.count("elements", 0));
    return "";
}

}  // namespace spec
