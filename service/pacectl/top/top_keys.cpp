#include "service/pacectl/top/top_keys.h"

#include <array>
#include <optional>
#include <utility>

namespace pace::pacectl {

namespace {

using Kind = Key::Kind;

// What terminals send after ESC [ or ESC O (ECMA-48, xterm and the Linux console).
constexpr std::array<std::pair<std::string_view, Kind>, 10> kSequences{{{"A", Kind::up},
                                                                        {"B", Kind::down},
                                                                        {"H", Kind::home},
                                                                        {"F", Kind::end},
                                                                        {"1~", Kind::home},
                                                                        {"7~", Kind::home},
                                                                        {"4~", Kind::end},
                                                                        {"8~", Kind::end},
                                                                        {"5~", Kind::page_up},
                                                                        {"6~", Kind::page_down}}};

std::optional<Kind> kind_of(std::string_view sequence) {
    for (const auto& [text, kind] : kSequences) {
        if (text == sequence) return kind;
    }
    return std::nullopt;
}

bool is_final(char byte) {
    return byte >= 0x40 && byte <= 0x7E;
}

// The size of the sequence at the start of `text`, which begins with ESC [ or ESC O; 0 if the
// sequence is cut off.
size_t sequence_size(std::string_view text) {
    for (size_t i = 2; i < text.size(); ++i) {
        if (is_final(text[i])) return i + 1;
    }
    return 0;
}

constexpr size_t kSequenceBytesMax = 16;  // longest incomplete sequence

Key plain_key(char byte) {
    if (byte == '\r' || byte == '\n') return {Kind::enter, 0};
    if (byte == 0x7F || byte == '\b') return {Kind::erase, 0};
    return {Kind::character, byte};
}

}  // namespace

std::vector<Key> KeyReader::read(std::string_view bytes) {
    const std::string all = std::exchange(pending_, {}) + std::string(bytes);
    std::vector<Key> keys;
    std::string_view rest = all;
    while (!rest.empty()) {
        const bool is_sequence =
            rest.size() > 1 && rest[0] == '\033' && (rest[1] == '[' || rest[1] == 'O');
        if (!is_sequence) {
            keys.push_back(rest[0] == '\033' ? Key{Kind::escape, 0} : plain_key(rest[0]));
            rest.remove_prefix(1);
            continue;
        }
        const size_t size = sequence_size(rest);
        if (size == 0) {
            if (rest.size() < kSequenceBytesMax) pending_ = rest;
            break;
        }
        if (const auto kind = kind_of(rest.substr(2, size - 2))) keys.push_back({*kind, 0});
        rest.remove_prefix(size);
    }
    return keys;
}

}  // namespace pace::pacectl
