#include "protocol/options/printable.h"

namespace pace::protocol {

std::string printable(std::string_view text_untrusted) {
    std::string text(text_untrusted);
    for (char& c : text) {
        if (c < ' ' || c > '~') c = '?';
    }
    return text;
}

}  // namespace pace::protocol
