// option: one option of a job, "group.size" = 3, and what a session is opened with.
#pragma once

#include <pace.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace pace {

// A time without limit, where milliseconds are given.
inline constexpr std::chrono::milliseconds forever{PACE_FOREVER};

// A name and its value: a whole number, a real number, a word, or bytes. A bool counts as 0 or 1.
// Owns its texts. docs/options.md and pace::query("options") list the names; opening a session
// checks them.
class option {
  public:
    template <class Number, std::enable_if_t<std::is_integral<Number>::value, int> = 0>
    option(std::string name, Number number) : name_(std::move(name)), value_(whole(number)) {}
    option(std::string name, double number) : name_(std::move(name)), value_(number) {}
    option(std::string name, const char* word)
        : name_(std::move(name)), value_(std::string(word)) {}
    option(std::string name, std::string word) : name_(std::move(name)), value_(std::move(word)) {}

    // An option whose value is bytes.
    static option bytes(std::string name, std::vector<std::uint8_t> data) {
        option made(std::move(name), 0);
        made.value_ = std::move(data);
        return made;
    }
    // Pairs of ranks: option::edges("group.edges", {{0, 1}, {1, 2}}).
    static option edges(std::string name,
                        const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
        std::vector<std::uint8_t> data;
        for (const auto& pair : pairs)
            for (const std::uint32_t rank : {pair.first, pair.second})
                for (unsigned shift = 0; shift < 32; shift += 8)
                    data.push_back(static_cast<std::uint8_t>(rank >> shift & 0xFFU));
        return bytes(std::move(name), std::move(data));
    }

    // The same option as a hint: a library, daemon or controller that does not know its name
    // ignores it.
    option as_hint() const {
        option hint = *this;
        hint.flags_ = PACE_OPTION_HINT;
        return hint;
    }

    // The name, "group.size".
    const std::string& name() const noexcept { return name_; }

    // The option for pace.h; points into this one.
    pace_option raw() const noexcept {
        pace_option raw = pace_option_int(name_.c_str(), 0);
        if (const auto* number = std::get_if<std::int64_t>(&value_))
            raw = pace_option_int(name_.c_str(), *number);
        else if (const auto* real = std::get_if<double>(&value_))
            raw = pace_option_real(name_.c_str(), *real);
        else if (const auto* word = std::get_if<std::string>(&value_))
            raw = pace_option_text(name_.c_str(), word->c_str());
        else if (const auto* data = std::get_if<std::vector<std::uint8_t>>(&value_))
            raw = pace_option_bytes(name_.c_str(), data->data(), data->size());
        raw.flags = flags_;
        return raw;
    }

  private:
    // A number beyond the range of pace_option is beyond every option's bounds, too.
    template <class Number>
    static std::int64_t whole(Number number) noexcept {
        constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
        if constexpr (std::is_unsigned<Number>::value && sizeof(Number) >= sizeof(std::int64_t))
            return number > static_cast<std::uint64_t>(greatest)
                       ? greatest
                       : static_cast<std::int64_t>(number);
        else
            return static_cast<std::int64_t>(number);
    }
    std::string name_;
    std::variant<std::int64_t, double, std::string, std::vector<std::uint8_t>> value_;
    std::uint32_t flags_ = 0;
};

// What a session is opened with. All workers of a job give the same job, policy, world, options and
// run.
struct session_options {
    std::string job;     // its name: letters, digits, '.', '_', '-'; 1 to 63 of them; must be given
    std::string policy;  // its word, "partial-reduce" or PACE_POLICY_PARTIAL_REDUCE; must be given
    std::uint32_t rank = 0;            // this worker, 0 .. world-1
    std::uint32_t world = 0;           // workers of the job, 1 .. 65536; must be given
    std::vector<option> options = {};  // {{"group.size", 3}, {"average.weights", "dynamic"}}

    // "unix:PATH", "embedded:" or "embedded:FILE.toml". Absent: PACE_ENDPOINT of the environment,
    // else this node's daemon.
    std::optional<std::string> endpoint = std::nullopt;
    // Which execution of the job this is. Absent: PACE_RUN_ID of the environment, or what a
    // launcher says.
    std::optional<std::string> run = std::nullopt;

    // The longest wait for the daemon, at the opening and whenever the session reconnects; or
    // pace::forever.
    std::chrono::milliseconds connect_timeout{10000};
    bool resume = false;  // go on with the run of this identity though all its workers have died
    bool signals =
        false;  // the opening, and calls that reconnect, end as interrupted when a signal comes
};

}  // namespace pace
