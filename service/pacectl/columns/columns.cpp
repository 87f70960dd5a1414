#include "service/pacectl/columns/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pace::pacectl {

size_t shown_width(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

Columns::Columns(std::vector<std::string> headings) : headings_(std::move(headings)) {
    for (std::string& heading : headings_) {
        right_.push_back(heading.starts_with('>'));
        if (right_.back()) heading.erase(0, 1);
    }
}

void Columns::add(std::vector<std::string> row) {
    row.resize(headings_.size());
    rows_.push_back(std::move(row));
}

std::string Columns::text(std::string_view indent) const {
    std::vector<size_t> widths;
    for (size_t column = 0; column < headings_.size(); ++column) {
        size_t width = shown_width(headings_[column]);
        for (const auto& row : rows_) width = std::max(width, shown_width(row[column]));
        widths.push_back(width);
    }
    std::string lines;
    const auto add_line = [&](const std::vector<std::string>& cells) {
        std::string line(indent);
        for (size_t column = 0; column < cells.size(); ++column) {
            const std::string padding(widths[column] - shown_width(cells[column]), ' ');
            if (column > 0) line += "  ";
            line += right_[column] ? padding + cells[column] : cells[column] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        lines += line + '\n';
    };
    add_line(headings_);
    for (const auto& row : rows_) add_line(row);
    return lines;
}

std::string rows_left_out(size_t shown, size_t all, uint64_t elsewhere, std::string_view what) {
    const uint64_t missing = all - shown + elsewhere;
    return missing == 0 ? std::string() : fmt::format("  … and {} more {}\n", missing, what);
}

}  // namespace pace::pacectl
