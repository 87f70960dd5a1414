// Columns: rows of text under headings, each column as wide as its widest cell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pace::pacectl {

class Columns {
  public:
    // A heading that begins with '>' makes a column of numbers: right-aligned.
    explicit Columns(std::vector<std::string> headings);

    void add(std::vector<std::string> row);
    bool empty() const { return rows_.empty(); }

    // Every line begins with `indent` and has no space at its end.
    std::string text(std::string_view indent = "  ") const;

  private:
    std::vector<std::string> headings_;
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

// Columns that a terminal needs for UTF-8 text, each code point as one.
size_t shown_width(std::string_view text);

}  // namespace pace::pacectl
