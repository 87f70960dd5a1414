// TopState: what pacectl top shows of a status document, as chosen by keys. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "service/pacectl/top/top_keys.h"

namespace pace::pacectl {

struct TopState {
    char sort_key = 'r';  // a key of sort_keys()
    bool is_reversed = false;
    std::string filter;      // text that a worker's line must contain, in any case
    bool is_typing = false;  // the filter
    bool is_paused = false;
    bool shows_help = false;
    std::string job;                // the selected one; empty: all
    size_t scroll = 0;              // body lines above the screen
    size_t page = 1;                // body lines that fit on the screen
    std::vector<std::string> jobs;  // names in the document's order
};

// A key that chooses the order of workers.
struct SortKey {
    char key;
    std::string_view name;
    std::string_view help;
};
const std::vector<SortKey>& sort_keys();
std::set<std::string> sort_names();
// The key for a name from sort_names().
char sort_key_named(std::string_view name);

enum class TopWish { none, redraw, refresh, end };

// Applies the key; returns what it asks for.
TopWish press(TopState& state, const Key& key);

// Limits scrolling to the end of the body.
void clamp_scroll(TopState& state, size_t body_lines);

}  // namespace pace::pacectl
