#include "service/pacectl/top/top_state.h"

#include <algorithm>

namespace pace::pacectl {

namespace {

using Kind = Key::Kind;

constexpr size_t kFilterBytesMax = 64;

void type_filter(TopState& state, const Key& key) {
    switch (key.kind) {
        case Kind::enter:
            state.is_typing = false;
            return;
        case Kind::escape:
            state.is_typing = false;
            state.filter.clear();
            return;
        case Kind::erase:
            if (!state.filter.empty()) state.filter.pop_back();
            return;
        case Kind::character:
            if (key.character >= ' ' && state.filter.size() < kFilterBytesMax)
                state.filter += key.character;
            return;
        default:
            return;
    }
}

// May scroll past the end; clamp_scroll corrects this.
bool scroll(TopState& state, Kind kind) {
    const auto back = [&](size_t lines) { state.scroll -= std::min(lines, state.scroll); };
    switch (kind) {
        case Kind::up:
            back(1);
            return true;
        case Kind::down:
            state.scroll += 1;
            return true;
        case Kind::page_up:
            back(state.page);
            return true;
        case Kind::page_down:
            state.scroll += state.page;
            return true;
        case Kind::home:
            state.scroll = 0;
            return true;
        case Kind::end:
            state.scroll = SIZE_MAX / 2;
            return true;
        default:
            return false;
    }
}

bool is_sort_key(char key) {
    return std::any_of(sort_keys().begin(), sort_keys().end(),
                       [&](const SortKey& known) { return known.key == key; });
}

void sort_by(TopState& state, char key) {
    state.is_reversed = state.sort_key == key && !state.is_reversed;
    state.sort_key = key;
}

// The order: all jobs, then each job as in the document, then all again.
void select_next_job(TopState& state) {
    const auto at = std::find(state.jobs.begin(), state.jobs.end(), state.job);
    if (state.job.empty() && !state.jobs.empty())
        state.job = state.jobs.front();
    else if (at == state.jobs.end() || at + 1 == state.jobs.end())
        state.job.clear();
    else
        state.job = *(at + 1);
    state.scroll = 0;
}

TopWish press_character(TopState& state, char key) {
    constexpr char kControlL = 'L' - '@';
    if (is_sort_key(key)) {
        sort_by(state, key);
        return TopWish::redraw;
    }
    switch (key) {
        case 'q':
        case 'Q':
            return TopWish::end;
        case '?':
        case 'h':
            state.shows_help = true;
            return TopWish::redraw;
        case '/':
            state.is_typing = true;
            state.filter.clear();
            return TopWish::redraw;
        case ' ':
            state.is_paused = !state.is_paused;
            return state.is_paused ? TopWish::redraw : TopWish::refresh;
        case 'j':
        case '\t':
            select_next_job(state);
            return TopWish::redraw;
        case kControlL:
            return TopWish::redraw;
        default:
            return TopWish::none;
    }
}

}  // namespace

const std::vector<SortKey>& sort_keys() {
    static const std::vector<SortKey> kKeys{
        {'r', "rank", "rank"},
        {'s', "step", "median step, the longest first"},
        {'w', "waited", "time waited, the most first"},
        {'n', "node", "name of the node"},
        {'p', "progress", "progress, the furthest behind first"}};
    return kKeys;
}

std::set<std::string> sort_names() {
    std::set<std::string> names;
    for (const SortKey& key : sort_keys()) names.emplace(key.name);
    return names;
}

char sort_key_named(std::string_view name) {
    for (const SortKey& key : sort_keys()) {
        if (key.name == name) return key.key;
    }
    return sort_keys().front().key;
}

TopWish press(TopState& state, const Key& key) {
    if (state.is_typing) {
        type_filter(state, key);
        state.scroll = 0;
        return TopWish::redraw;
    }
    if (state.shows_help) {
        state.shows_help = false;
        const bool ends =
            key.kind == Kind::character && (key.character == 'q' || key.character == 'Q');
        return ends ? TopWish::end : TopWish::redraw;
    }
    if (scroll(state, key.kind)) return TopWish::redraw;
    if (key.kind == Kind::escape) {
        state.filter.clear();
        return TopWish::redraw;
    }
    return key.kind == Kind::character ? press_character(state, key.character) : TopWish::none;
}

void clamp_scroll(TopState& state, size_t body_lines) {
    const size_t most = body_lines > state.page ? body_lines - state.page : 0;
    state.scroll = std::min(state.scroll, most);
}

}  // namespace pace::pacectl
