// TopView: converts a status document into a screen of pacectl top. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "service/pacectl/console/document.h"
#include "service/pacectl/top/top_state.h"

namespace pace::pacectl {

enum class Style { plain, title, heading, good, warning, bad, faint };

struct StyledLine {
    std::string text;
    Style style = Style::plain;
};

// The head and the foot are fixed; the body scrolls between them.
struct TopView {
    std::vector<StyledLine> head;
    std::vector<StyledLine> body;
    StyledLine foot;
};

// `status` may come from a controller of any age. `failure` says why there is no newer document;
// empty if there is one.
TopView top_view(const Json& status, const TopState& state, const std::string& failure);

// The names of the document's jobs.
std::vector<std::string> job_names(const Json& status);

// The part of the view that fits into rows, as lines without line feeds.
std::vector<StyledLine> visible_lines(const TopView& view, TopState& state, size_t rows);

}  // namespace pace::pacectl
