// Keys: converts the bytes that a terminal sends into keys. Pure.
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
    // The keys in `bytes`, in order. A sequence that is cut off continues with the next bytes. An
    // ESC at the end is the key of this name. Unknown sequences are skipped.
    std::vector<Key> read(std::string_view bytes);

  private:
    std::string pending_;  // the start of a sequence
};

}  // namespace pace::pacectl
