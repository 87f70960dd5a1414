// FileTable: one table of a scenario file, read key by key. Every error names the file and line,
// the key, its value, and what to give instead.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/toml_document.h"

namespace pace::simulator {

class FileTable {
  public:
    // `table` must outlive this object. Null is an empty table. `name` is the table's name in
    // messages. It is empty for the document. `file` is the document's file.
    FileTable(const toml::table* table, std::string name, std::string file)
        : table_(table), name_(std::move(name)), file_(std::move(file)) {}

    // Returns an error if there is any other key.
    base::Result<> allow(std::initializer_list<std::string_view> keys) const;

    bool has(std::string_view key) const { return find(key) != nullptr; }

    // Read a number in a range with both ends included. Without a fallback the key must be there.
    base::Result<double> number(std::string_view key, double least, double most,
                                std::optional<double> fallback = {}) const;
    base::Result<uint64_t> whole(std::string_view key, uint64_t least, uint64_t most,
                                 std::optional<uint64_t> fallback = {}) const;

    base::Result<uint64_t> whole_of(std::string_view key, const toml::node* node, uint64_t least,
                                    uint64_t most) const;

    // A whole number of bytes, or a text like "100 MB".
    base::Result<uint64_t> bytes(std::string_view key, uint64_t most) const;
    base::Result<std::string> text(std::string_view key, std::string fallback) const;

    // Returns the index in `words` of the given word.
    base::Result<size_t> word(std::string_view key, std::span<const std::string_view> words,
                              size_t fallback) const;
    base::Result<size_t> word_of(std::string_view key, const toml::node& node,
                                 std::span<const std::string_view> words) const;

    // The lists must not be empty.
    base::Result<std::vector<double>> numbers(std::string_view key, double least,
                                              double most) const;
    base::Result<std::vector<uint64_t>> wholes(std::string_view key, uint64_t least,
                                               uint64_t most) const;
    base::Result<std::vector<size_t>> words(std::string_view key,
                                            std::span<const std::string_view> words) const;

    // Returns the items of a list of any kind. The list must not be empty.
    base::Result<std::vector<const toml::node*>> items(std::string_view key) const;

    const toml::node* find(std::string_view key) const;

    // table() returns [key], or an empty table if it is absent. tables() returns [[key]], which may
    // be none.
    base::Result<FileTable> table(std::string_view key) const;
    base::Result<std::vector<FileTable>> tables(std::string_view key) const;

    // "FILE:LINE: NAME.KEY = VALUE: WHAT", or "FILE: NAME.KEY is missing: WHAT".
    base::Error error(std::string_view key, std::string_view what) const;

  private:
    std::string full_name(std::string_view key) const;
    base::Result<double> number_of(std::string_view key, const toml::node* node, double least,
                                   double most) const;
    base::Result<const toml::array*> list(std::string_view key, std::string_view of) const;

    const toml::table* table_;
    std::string name_;
    std::string file_;
};

}  // namespace pace::simulator
