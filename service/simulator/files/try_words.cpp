#include "service/simulator/files/try_words.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "service/simulator/files/scenario_file.h"
#include "settings/value.h"

namespace pace::simulator {

using base::ErrorKind;
using base::make_error;
using base::Result;
using controller::Quorum;

namespace {

template <typename Choice>
Result<> add_words(std::string_view flag, std::span<const std::string> given,
                   const Words<Choice>& known, std::vector<Choice>& ret_choices) {
    for (const std::string& word : given) {
        const auto found = std::find(known.words.begin(), known.words.end(), word);
        if (found == known.words.end())
            return make_error(ErrorKind::invalid, "{} {} is none of {}", flag, word,
                              fmt::join(known.words, ", "));
        ret_choices.push_back(known.choices[static_cast<size_t>(found - known.words.begin())]);
    }
    return {};
}

}  // namespace

std::optional<Quorum> quorum_named(std::string_view word) {
    for (const Quorum quorum : {Quorum::solo, Quorum::majority, Quorum::majority_strict})
        if (name_of(quorum) == word) return quorum;
    return std::nullopt;
}

Result<> try_policies(std::span<const std::string> words, Scenario& ret_scenario) {
    return add_words("--policy", words, simulated_policies(), ret_scenario.policies);
}

Result<> try_compressions(std::span<const std::string> words, Scenario& ret_scenario) {
    return add_words("--compression", words, simulated_compressions(), ret_scenario.compressions);
}

Result<> try_quorums(std::span<const std::string> words, Scenario& ret_scenario) {
    for (const std::string& word : words) {
        if (const auto quorum = quorum_named(word)) {
            ret_scenario.quorums.emplace_back(*quorum, 0);
            continue;
        }
        uint32_t count = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
        if (error != std::errc{} || end != word.data() + word.size() || count < 1 ||
            count > ret_scenario.world())
            return make_error(ErrorKind::invalid,
                              "--quorum {} is neither solo, majority, majority-strict nor a number "
                              "from 1 to {}",
                              word, ret_scenario.world());
        ret_scenario.quorums.emplace_back(Quorum::count, count);
    }
    return {};
}

Result<uint64_t> parse_size(std::string_view text) {
    settings::Setting setting;
    setting.kind = settings::Kind::bytes;
    setting.min = 1;
    setting.max = static_cast<int64_t>(kBytesMax);
    const auto value = settings::parse_text(setting, std::string(text));
    if (!value)
        return make_error(ErrorKind::invalid, "--bytes {}: {}", text, value.error().message);
    return static_cast<uint64_t>(*std::get_if<int64_t>(&*value));
}

}  // namespace pace::simulator
