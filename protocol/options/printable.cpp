#include "protocol/options/printable.h"

namespace pace::protocol {

std::string printable(std::string_view text_untrusted) {
    std::string text(text_untrusted);
    for (char& c : text) {
        if (c < ' ' || c > '~') c = '?';
    }
    return text;
}

std::string quoted(std::string_view text_untrusted) {
    std::string out = "\"";
    for (const char c : text_untrusted) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
    return out + "\"";
}

}  // namespace pace::protocol
