// TopState: what pacectl top shows of a status document, as its keys have chosen. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "service/pacectl/top_keys.h"

namespace pace::pacectl {

struct TopState {
    char sort_key = 'r';  // a key of sort_keys()
    bool is_reversed = false;
    std::string filter;      // what a worker's line must have in it, in any case of letters
    bool is_typing = false;  // the filter
    bool is_paused = false;
    bool shows_help = false;
    std::string job;                // the selected one; empty: all
    size_t scroll = 0;              // lines of the body above the screen
    size_t page = 1;                // lines of the body that the screen has room for
    std::vector<std::string> jobs;  // of the document, in its order
};

// The keys that choose the order of workers.
struct SortKey {
    char key;
    std::string_view name;
    std::string_view help;
};
const std::vector<SortKey>& sort_keys();
std::set<std::string> sort_names();
// The key of a name of sort_names().
char sort_key_named(std::string_view name);

enum class TopWish { none, redraw, refresh, end };

// What the key asks for.
TopWish press(TopState& state, const Key& key);

// Where the body ends: nobody scrolls past it.
void clamp_scroll(TopState& state, size_t body_lines);

}  // namespace pace::pacectl
