#include <CLI/CLI.hpp>

#include "settings/sources.h"

namespace pace::settings {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// The variables that CLI11 fills. The strings must not move while CLI11 parses.
struct Slots {
    std::string config;
    std::vector<std::string> texts;
    bool help = false;
    bool help_config = false;
    bool version = false;
};

std::string described(const Setting& setting) {
    std::string text(setting.help);
    if (setting.kind != Kind::boolean && !setting.initial.empty())
        text += fmt::format(" Default: {}.", setting.initial);
    return text;
}

void declare(CLI::App& app, const Table& table, Slots& slots) {
    app.set_help_flag();
    app.allow_extras();
    app.get_formatter()->column_width(34);
    app.add_flag("--help,-h", slots.help, "This.");
    app.add_flag("--help-config", slots.help_config,
                 "All settings as a documented configuration file.");
    app.add_flag("--version", slots.version, "The version.");
    app.add_option("--config", slots.config,
                   fmt::format("The configuration file. Default: {}, if it exists.", table.file))
        ->type_name("FILE");
    slots.texts.resize(table.settings.size());
    for (size_t i = 0; i < table.settings.size(); ++i) {
        const Setting& setting = table.settings[i];
        CLI::Option* option = nullptr;
        if (setting.kind == Kind::boolean)
            option =
                app.add_flag(flag_of(setting.name) + "{true}", slots.texts[i], described(setting));
        else
            option = app.add_option(flag_of(setting.name), slots.texts[i], described(setting));
        option->group("Settings")->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        option->type_name(setting.kind == Kind::text || setting.kind == Kind::boolean
                              ? ""
                              : std::string(kind_name(setting.kind)));
    }
}

Result<> refuse_extras(const CLI::App& app, const Table& table) {
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) return {};
    std::string name = extras.front().substr(0, extras.front().find('='));
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    std::replace(name.begin(), name.end(), '-', '_');
    return make_error(ErrorKind::invalid, "unknown argument '{}'{} `{} --help` lists all",
                      extras.front(), suggestion(table, name), table.program);
}

}  // namespace

Result<Flags> parse_flags(const Table& table, int argc, const char* const* argv) {
    CLI::App app{std::string(table.summary), std::string(table.program)};
    Slots slots;
    declare(app, table, slots);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Error& error) {
        return make_error(ErrorKind::invalid, "{}; `{} --help` lists all", error.what(),
                          table.program);
    }
    PACE_TRY(refuse_extras(app, table));

    Flags flags;
    if (slots.help) flags.print = app.help();
    if (slots.help_config) flags.print = help_config(table);
    if (slots.version) flags.print = fmt::format("{} {}\n", table.program, PACE_VERSION);
    if (app.count("--config") > 0) flags.config = slots.config;
    for (size_t i = 0; i < table.settings.size(); ++i) {
        const Setting& setting = table.settings[i];
        if (app.count(flag_of(setting.name)) > 0)
            flags.given.emplace_back(&setting, std::move(slots.texts[i]));
    }
    return flags;
}

Result<> apply_flags(Settings& settings, const Flags& flags) {
    for (const auto& [setting, text] : flags.given) {
        auto value = parse_text(*setting, text);
        if (!value)
            return make_error(ErrorKind::invalid, "{} {}: {}", flag_of(setting->name),
                              std::string_view(text).substr(0, 60), value.error().message);
        settings.set(*setting, std::move(value).value(), flag_of(setting->name));
    }
    return {};
}

}  // namespace pace::settings
