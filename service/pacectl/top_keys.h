// Keys: what a terminal sends when keys are pressed, as keys. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pace::pacectl {

struct Key {
    enum class Kind { character, up, down, page_up, page_down, home, end, enter, escape, erase };
    Kind kind = Kind::character;
    char character = 0;
    bool operator==(const Key&) const = default;
};

class KeyReader {
  public:
    // The keys of `bytes`, in their order. A sequence that is cut off goes on with the next bytes; an
    // ESC that nothing follows is the key of that name. Unknown sequences are skipped.
    std::vector<Key> read(std::string_view bytes);

  private:
    std::string pending_;  // the begin of a sequence
};

}  // namespace pace::pacectl
