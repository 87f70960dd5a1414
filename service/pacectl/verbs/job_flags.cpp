#include "service/pacectl/verbs/job_flags.h"

#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "protocol/options/option_table.h"

namespace pace::pacectl {

namespace {

using protocol::AskedOptions;
using protocol::OptionKind;
using protocol::OptionRow;

std::string flag_of(const OptionRow& row) {
    std::string flag = "--" + std::string(row.name);
    for (char& c : flag) {
        if (c == '.' || c == '_') c = '-';
    }
    return flag;
}

std::string help_of(const OptionRow& row) {
    if (is_switch(row)) return std::string(row.help);
    return fmt::format("{} {}. Default: {}.", row.help, values_text(row), initial_text(row));
}

std::string_view type_of(const OptionRow& row) {
    if (row.field.words != nullptr) return "WORD";
    return row.field.kind == OptionKind::bytes ? "RANK-RANK,..." : "NUMBER";
}

void add_flag(CLI::App& create, const OptionRow& row, AskedOptions& job) {
    if (is_switch(row)) {
        create.add_flag_callback(
            flag_of(row),
            [&row, &job] {
                job.values.push_back({std::string(row.name), int64_t{1}});
            },
            help_of(row));
        return;
    }
    create
        .add_option_function<std::string>(
            flag_of(row),
            [&row, &job](const std::string& text) {
                auto value = protocol::value_from_text(row, text);
                if (!value) throw CLI::ValidationError(flag_of(row), value.error().message);
                job.values.push_back(std::move(*value));
            },
            help_of(row))
        ->type_name(std::string(type_of(row)));
}

}  // namespace

void add_job_flags(CLI::App& create, AskedOptions& ret_job) {
    create.add_option("name", ret_job.name, "Letters, digits, '.', '_', '-'; at most 63.")
        ->required();
    create.add_option("--world", ret_job.world, "Workers of the job.")->required();
    create
        .add_option("--policy", ret_job.policy,
                    "Who exchanges with whom: " +
                        protocol::listed(protocol::words_of(protocol::Policy{})) + ".")
        ->required()
        ->type_name("WORD")
        ->check([](const std::string& word) {
            if (protocol::find_policy(word) != nullptr) return std::string();
            return fmt::format("policy is '{}'; use {}", word,
                               protocol::listed(protocol::words_of(protocol::Policy{})));
        });
    for (const OptionRow& row : protocol::option_table()) add_flag(create, row, ret_job);
}

}  // namespace pace::pacectl
