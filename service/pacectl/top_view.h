// TopView: a status document as a screen of pacectl top. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "service/pacectl/document.h"
#include "service/pacectl/top_state.h"

namespace pace::pacectl {

enum class Style { plain, title, heading, good, warning, bad, faint };

struct StyledLine {
    std::string text;
    Style style = Style::plain;
};

// The head and the foot stay, the body scrolls between them.
struct TopView {
    std::vector<StyledLine> head;
    std::vector<StyledLine> body;
    StyledLine foot;
};

// `status` may be of any controller. `failure`: why there is no newer one; empty if there is.
TopView top_view(const Json& status, const TopState& state, const std::string& failure);

// The names of the document's jobs.
std::vector<std::string> job_names(const Json& status);

// The screen: what fits of the view into rows and columns, as lines without a line feed.
std::vector<StyledLine> visible_lines(const TopView& view, TopState& state, size_t rows);

}  // namespace pace::pacectl
