// Fuzzes the configuration: a file, an environment and a command line made of the input. Accepted
// values must lie within the bounds of their table.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "settings/sources.h"

namespace {

using namespace pace::settings;

void require(bool holds) {
    if (!holds) std::abort();
}

void check_bounds(const Settings& settings) {
    for (const Setting& setting : settings.table().settings) {
        const bool is_number = setting.kind == Kind::integer || setting.kind == Kind::bytes ||
                               setting.kind == Kind::milliseconds;
        if (!is_number) continue;
        const int64_t number = settings.integer(setting.name);
        require(number >= setting.min && number <= setting.max);
    }
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (size_t start = 0; start <= text.size();) {
        const size_t end = std::min(text.find('\n', start), text.size());
        lines.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const Table& table = data[0] % 2 == 0 ? daemon_table() : controller_table();
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    Settings settings(table);
    if (data[0] % 8 < 4) {
        (void)apply_toml(settings, text, "fuzz.toml");
    } else {
        const std::vector<std::string> lines = lines_of(text);
        std::vector<const char*> words{"fuzz"};
        for (const std::string& line : lines) words.push_back(line.c_str());
        const auto count = static_cast<int>(words.size());
        words.push_back(nullptr);
        std::vector<std::string> warnings;
        (void)apply_environment(settings, words.data(), warnings);
        if (const auto flags = parse_flags(table, count, words.data()))
            (void)apply_flags(settings, *flags);
    }
    check_bounds(settings);
    return 0;
}
