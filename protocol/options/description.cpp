#include "protocol/options/description.h"

#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "protocol/options/option_table.h"
#include "protocol/options/printable.h"

namespace pace::protocol {
namespace {

std::string_view name_of(Family family) {
    switch (family) {
        case Family::collective:
            return "collective";
        case Family::averaging:
            return "averaging";
        case Family::server:
            return "server";
    }
    return "?";
}

std::string_view name_of(OptionKind kind) {
    switch (kind) {
        case OptionKind::integer:
            return "integer";
        case OptionKind::real:
            return "real";
        case OptionKind::text:
            return "text";
        case OptionKind::bytes:
            return "bytes";
    }
    return "?";
}

std::string list_of(Words words) {
    std::string text;
    for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + quoted(word);
    return "[" + text + "]";
}

std::string json_of(const PolicyRow& row) {
    return fmt::format(R"({{"name": {}, "family": "{}", "help": {}}})", quoted(row.word),
                       name_of(row.family), quoted(row.help));
}

std::string json_of(const OptionRow& row) {
    std::string text = fmt::format(
        R"({{"name": {}, "kind": "{}", "values": {}, "default": {}, "family": "{}", )"
        R"("policies": {})",
        quoted(row.name), name_of(row.field.kind), quoted(values_text(row)),
        quoted(initial_text(row)), row.scope.family ? name_of(*row.scope.family) : "any",
        list_of(policies_of(row.scope)));
    if (row.field.words != nullptr)
        text += fmt::format(R"(, "choices": {})", list_of(row.field.words()));
    if (row.field.kind == OptionKind::integer)
        text += fmt::format(R"(, "least": {:.0f}, "greatest": {:.0f})", row.least, row.greatest);
    if (row.field.kind == OptionKind::real)
        text += fmt::format(R"(, "least": {}, "greatest": {})", row.least, row.greatest);
    if (!row.need.words.empty()) text += fmt::format(R"(, "needs": {})", quoted(row.need.words));
    return text + fmt::format(R"(, "help": {}}})", quoted(row.help));
}

template <typename Rows>
std::string json_list(const Rows& rows) {
    std::string text;
    for (const auto& row : rows) text += (text.empty() ? "" : ",\n  ") + json_of(row);
    return "[\n  " + text + "]";
}

// Makes a line like: #define PACE_OPT_TOPK_DENSITY "topk.density"
std::string definition(std::string_view prefix, std::string_view word) {
    std::string name(prefix);
    for (const char c : word)
        name += c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(c));
    return fmt::format("#define {} \"{}\"\n", name, word);
}

std::string counts_with(const OptionRow& row) {
    std::string text = row.scope.family ? words_of(row.scope) : "";
    if (!row.need.words.empty())
        text += fmt::format("{}{}", text.empty() ? "" : "; ", row.need.words);
    return text.empty() ? "every policy" : text;
}

}  // namespace

std::string options_json() {
    return fmt::format("{{\"policies\": {},\n \"options\": {}}}\n", json_list(policies()),
                       json_list(option_table()));
}

std::string options_list_json() {
    return json_list(option_table()) + "\n";
}

std::string policies_list_json() {
    return json_list(policies()) + "\n";
}

std::string constants() {
    std::string text;
    for (const PolicyRow& row : policies()) text += definition("PACE_POLICY_", row.word);
    text += "\n";
    for (const OptionRow& row : option_table()) text += definition("PACE_OPT_", row.name);
    return text;
}

std::string options_page() {
    std::string text =
        "# Options of a job\n\n"
        "Written by `option_reference` from the tables in `protocol/options`; change those, not "
        "this page. `pacectl options` prints the same.\n\n"
        "All workers of a job give the same options; whoever joins with others is refused and told "
        "each difference. An option that is left out has its default. One that does not count in "
        "the job that is asked for is refused by name. `pacectl job create` has a flag for each: "
        "`topk.team_gather` is `--topk-team-gather`.\n\n"
        "## Policies\n\n| policy | family | |\n|---|---|---|\n";
    for (const PolicyRow& row : policies())
        text += fmt::format("| `{}` | {} | {} |\n", row.word, name_of(row.family), row.help);
    text +=
        "\n## Options\n\n| option | values | default | counts with | |\n|---|---|---|---|---|\n";
    for (const OptionRow& row : option_table())
        text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, values_text(row),
                            initial_text(row), counts_with(row), row.help);
    return text;
}

}  // namespace pace::protocol
