// AskedSession: the arguments of pace_session_open, with options that are set one by one. Tests,
// benchmarks and their trainers use it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "capi/pace.h"

namespace pace {

class AskedSession {
  public:
    std::string endpoint = {};  // empty: pace_session_open finds one
    std::string job = "test";
    std::string policy = {};
    uint32_t rank = 0;
    uint32_t world = 1;
    uint32_t flags = 0;
    int64_t connect_ms = 10000;
    std::string run = {};  // empty: no run is given

    // Sets the option with this name. Replaces its earlier value. `given` is an integer, a real
    // number or a word.
    template <typename Given>
    void set(std::string_view name, const Given& given) {
        if constexpr (std::is_convertible_v<Given, std::string_view>)
            put(name, std::string(std::string_view(given)));
        else if constexpr (std::is_floating_point_v<Given>)
            put(name, static_cast<double>(given));
        else
            put(name, static_cast<int64_t>(given));
    }
    // Sets a graph: pairs of ranks.
    void set(std::string_view name, const std::vector<uint32_t>& ranks) { put(name, ranks); }

    // Whether the option is set, or was set to this word.
    bool has(std::string_view name) const { return find(name) != values_.end(); }
    bool has(std::string_view name, std::string_view word) const {
        return has(name) && std::get<std::string>(find(name)->second) == word;
    }

    pace_status open(pace_session** ret_session, pace_error* error) const {
        std::vector<pace_option> options;
        for (const auto& [name, value] : values_) options.push_back(option_of(name, value));
        pace_session_options asked = PACE_SESSION_OPTIONS_INIT;
        asked.rank = rank;
        asked.world = world;
        asked.flags = flags;
        asked.connect_ms = connect_ms;
        asked.endpoint = endpoint.empty() ? nullptr : endpoint.c_str();
        asked.job = job.c_str();
        asked.policy = policy.c_str();
        asked.options = options.data();
        asked.option_count = options.size();
        asked.run = run.empty() ? nullptr : run.c_str();
        return pace_session_open(&asked, ret_session, error);
    }

  private:
    using Value = std::variant<int64_t, double, std::string, std::vector<uint32_t>>;
    using Named = std::pair<std::string, Value>;

    std::vector<Named>::const_iterator find(std::string_view name) const {
        return std::find_if(values_.begin(), values_.end(),
                            [name](const Named& one) { return one.first == name; });
    }
    void put(std::string_view name, Value value) {
        const auto place = find(name) - values_.cbegin();
        if (place == std::ssize(values_))
            values_.emplace_back(name, std::move(value));
        else
            values_[static_cast<size_t>(place)].second = std::move(value);
    }

    static pace_option option_of(const std::string& name, const Value& value) {
        if (const auto* number = std::get_if<int64_t>(&value))
            return PACE_OPTION_INT(name.c_str(), *number);
        if (const auto* real = std::get_if<double>(&value))
            return PACE_OPTION_REAL(name.c_str(), *real);
        if (const auto* word = std::get_if<std::string>(&value))
            return PACE_OPTION_TEXT(name.c_str(), word->c_str());
        const auto& ranks = std::get<std::vector<uint32_t>>(value);
        return PACE_OPTION_BYTES(name.c_str(), ranks.data(), ranks.size() * sizeof(uint32_t));
    }

    std::vector<Named> values_;  // in the order in which they were first set
};

}  // namespace pace
