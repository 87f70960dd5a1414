#include <algorithm>
#include <cctype>
#include <numeric>

#include "settings/sources.h"

namespace pace::settings {

namespace {

// Returns Levenshtein's distance, computed one row at a time.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.size(); ++j) {
            const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string variable_of(const Table& table, std::string_view name) {
    std::string variable(table.environment_prefix);
    for (const char c : name)
        variable += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return variable;
}

std::string flag_of(std::string_view name) {
    std::string flag = "--" + std::string(name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

std::string suggestion(const Table& table, std::string_view name) {
    constexpr size_t kLongestName = 64;
    if (name.size() > kLongestName) return ";";
    const Setting* nearest = nullptr;
    size_t least = std::max<size_t>(2, name.size() / 3) + 1;
    for (const Setting& setting : table.settings) {
        const bool contains = name.size() >= 4 && setting.name.find(name) != std::string_view::npos;
        const size_t far = contains ? 1 : distance(name, setting.name);
        if (far < least) {
            least = far;
            nearest = &setting;
        }
    }
    return nearest == nullptr ? ";" : fmt::format("; did you mean '{}'?", nearest->name);
}

}  // namespace pace::settings
