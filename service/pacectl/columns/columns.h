// Columns: rows of text under headings, each column as wide as its widest cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pace::pacectl {

class Columns {
  public:
    // A heading that begins with '>' makes a right-aligned column, for numbers.
    explicit Columns(std::vector<std::string> headings);

    void add(std::vector<std::string> row);
    bool empty() const { return rows_.empty(); }

    // Every line begins with `indent` and has no trailing space.
    std::string text(std::string_view indent = "  ") const;

  private:
    std::vector<std::string> headings_;
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

// The line beneath a table that shows `shown` of `all` rows, when `elsewhere` rows more are not in
// `all`. Empty if no row is missing.
std::string rows_left_out(size_t shown, size_t all, uint64_t elsewhere, std::string_view what);

// The terminal columns for UTF-8 text, counting each code point as one.
size_t shown_width(std::string_view text);

}  // namespace pace::pacectl
