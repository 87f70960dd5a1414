#include "service/pacectl/console/mistypes.h"

#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "service/pacectl/columns/nearest.h"
#include "service/pacectl/console/document.h"

namespace pace::pacectl {

namespace {

std::string path_of(const CLI::App& app) {
    const CLI::App* parent = app.get_parent();
    return parent == nullptr ? app.get_name() : path_of(*parent) + " " + app.get_name();
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

// The long option names, as "--endpoint", of `app` and of the commands that contain it.
std::vector<std::string> options_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
        for (const CLI::Option* option : at->get_options()) {
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        }
    }
    return names;
}

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
    for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
        if (const CLI::Option* option = at->get_option_no_throw(name); option != nullptr)
            return option;
    }
    return nullptr;
}

const CLI::App* find_command(const CLI::App& app, std::string_view word) {
    for (const CLI::App* command : commands_of(app)) {
        if (command->get_name() == word) return command;
    }
    return nullptr;
}

std::string no_command(const CLI::App& app, std::string_view word) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
    return fmt::format("there is no command '{}'{}", printable(word), meant_text(word, names));
}

std::string no_option(const CLI::App& app, std::string_view word) {
    const std::vector<std::string> names = options_of(app);
    return fmt::format("{} has no option '{}'{}", path_of(app), printable(word),
                       meant_text(word, names));
}

}  // namespace

std::string mistyped(const CLI::App& app, std::span<const std::string_view> arguments) {
    const CLI::App* at = &app;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if (word == "--") break;
        if (word.starts_with("--")) {
            const size_t equals = word.find('=');
            const std::string name(word.substr(0, equals));
            const CLI::Option* option = find_option(*at, name);
            if (option == nullptr) return no_option(*at, name);
            const bool value_follows =
                equals == std::string_view::npos && option->get_items_expected_max() > 0;
            if (value_follows) ++i;
        } else if (!word.starts_with('-') && !commands_of(*at).empty()) {
            const CLI::App* command = find_command(*at, word);
            if (command == nullptr) return no_command(*at, word);
            at = command;
        }
    }
    return {};
}

}  // namespace pace::pacectl
