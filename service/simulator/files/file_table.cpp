#include "service/simulator/files/file_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "settings/value.h"

namespace pace::simulator {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

std::string join(std::span<const std::string_view> words) {
    std::string all;
    for (const std::string_view word : words)
        all += fmt::format("{}{}", all.empty() ? "" : ", ", word);
    return all;
}

}  // namespace

const toml::node* FileTable::find(std::string_view key) const {
    return table_ == nullptr ? nullptr : table_->get(key);
}

std::string FileTable::full_name(std::string_view key) const {
    return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
}

Error FileTable::error(std::string_view key, std::string_view what) const {
    const toml::node* node = find(key);
    if (node == nullptr)
        return make_error(ErrorKind::invalid, "{}: {} is missing: {}", file_, full_name(key), what);
    return make_error(ErrorKind::invalid, "{}:{}: {} = {}: {}", file_, node->source().begin.line,
                      full_name(key), settings::written(*node), what);
}

Result<> FileTable::allow(std::initializer_list<std::string_view> keys) const {
    if (table_ == nullptr) return {};
    for (const auto& [key, node] : *table_) {
        if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
        return make_error(ErrorKind::invalid, "{}:{}: there is no key '{}'; use {}", file_,
                          key.source().begin.line, full_name(key.str()),
                          join({keys.begin(), keys.size()}));
    }
    return {};
}

// ----------------------------------------------------------------------------------------- numbers

Result<double> FileTable::number_of(std::string_view key, const toml::node* node, double least,
                                    double most) const {
    if (node != nullptr) {
        const std::optional<double> given = node->value<double>();
        // A NaN is in no range.
        if (node->is_number() && given && *given >= least && *given <= most) return *given;
    }
    return error(key, fmt::format("give a number from {} to {}", least, most));
}

Result<uint64_t> FileTable::whole_of(std::string_view key, const toml::node* node, uint64_t least,
                                     uint64_t most) const {
    if (node != nullptr && node->is_integer()) {
        const int64_t given = node->as_integer()->get();
        if (given >= 0 && static_cast<uint64_t>(given) >= least &&
            static_cast<uint64_t>(given) <= most)
            return static_cast<uint64_t>(given);
    }
    return error(key, fmt::format("give a whole number from {} to {}", least, most));
}

Result<double> FileTable::number(std::string_view key, double least, double most,
                                 std::optional<double> fallback) const {
    if (fallback && !has(key)) return *fallback;
    return number_of(key, find(key), least, most);
}

Result<uint64_t> FileTable::whole(std::string_view key, uint64_t least, uint64_t most,
                                  std::optional<uint64_t> fallback) const {
    if (fallback && !has(key)) return *fallback;
    return whole_of(key, find(key), least, most);
}

Result<uint64_t> FileTable::bytes(std::string_view key, uint64_t most) const {
    const toml::node* node = find(key);
    if (node == nullptr || !node->is_string()) return whole_of(key, node, 1, most);
    settings::Setting setting;
    setting.kind = settings::Kind::bytes;
    setting.min = 1;
    setting.max = static_cast<int64_t>(most);
    const auto value = settings::parse_text(setting, node->as_string()->get());
    if (!value) return error(key, value.error().message);
    return static_cast<uint64_t>(*std::get_if<int64_t>(&*value));
}

// ------------------------------------------------------------------------------------------- words

Result<std::string> FileTable::text(std::string_view key, std::string fallback) const {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    if (!node->is_string()) return error(key, "give a text in quotes");
    return node->as_string()->get();
}

Result<size_t> FileTable::word(std::string_view key, std::span<const std::string_view> words,
                               size_t fallback) const {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    return word_of(key, *node, words);
}

Result<size_t> FileTable::word_of(std::string_view key, const toml::node& node,
                                  std::span<const std::string_view> words) const {
    if (node.is_string()) {
        const auto found = std::find(words.begin(), words.end(), node.as_string()->get());
        if (found != words.end()) return static_cast<size_t>(found - words.begin());
    }
    return error(key, fmt::format("{} is none of {}", settings::written(node), join(words)));
}

// ------------------------------------------------------------------------------------------- lists

Result<const toml::array*> FileTable::list(std::string_view key, std::string_view of) const {
    const toml::node* node = find(key);
    if (node == nullptr || !node->is_array() || node->as_array()->empty())
        return error(key, fmt::format("give a list of {}", of));
    return node->as_array();
}

Result<std::vector<const toml::node*>> FileTable::items(std::string_view key) const {
    PACE_TRY_ASSIGN(array, list(key, "words and numbers"));
    std::vector<const toml::node*> all;
    for (const toml::node& node : *array) all.push_back(&node);
    return all;
}

Result<std::vector<double>> FileTable::numbers(std::string_view key, double least,
                                               double most) const {
    PACE_TRY_ASSIGN(array, list(key, "numbers"));
    std::vector<double> values;
    for (const toml::node& node : *array) {
        PACE_TRY_ASSIGN(value, number_of(key, &node, least, most));
        values.push_back(value);
    }
    return values;
}

Result<std::vector<uint64_t>> FileTable::wholes(std::string_view key, uint64_t least,
                                                uint64_t most) const {
    PACE_TRY_ASSIGN(array, list(key, "whole numbers"));
    std::vector<uint64_t> values;
    for (const toml::node& node : *array) {
        PACE_TRY_ASSIGN(value, whole_of(key, &node, least, most));
        values.push_back(value);
    }
    return values;
}

Result<std::vector<size_t>> FileTable::words(std::string_view key,
                                             std::span<const std::string_view> words) const {
    PACE_TRY_ASSIGN(array, list(key, join(words)));
    std::vector<size_t> indices;
    for (const toml::node& node : *array) {
        PACE_TRY_ASSIGN(index, word_of(key, node, words));
        indices.push_back(index);
    }
    return indices;
}

// ------------------------------------------------------------------------------------------ tables

Result<FileTable> FileTable::table(std::string_view key) const {
    const toml::node* node = find(key);
    if (node == nullptr) return FileTable(nullptr, full_name(key), file_);
    if (!node->is_table()) return error(key, fmt::format("give a table, [{}]", full_name(key)));
    return FileTable(node->as_table(), full_name(key), file_);
}

Result<std::vector<FileTable>> FileTable::tables(std::string_view key) const {
    std::vector<FileTable> all;
    const toml::node* node = find(key);
    if (node == nullptr) return all;
    const std::string what = fmt::format("give tables, [[{}]]", full_name(key));
    if (!node->is_array()) return error(key, what);
    for (const toml::node& item : *node->as_array()) {
        if (!item.is_table()) return error(key, what);
        all.emplace_back(item.as_table(), fmt::format("{}[{}]", full_name(key), all.size() + 1),
                         file_);
    }
    return all;
}

}  // namespace pace::simulator
