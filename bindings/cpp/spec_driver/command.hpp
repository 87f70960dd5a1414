// Command: one line of the driver's input. Broken and Unsupported: the exceptions of a handler that
// cannot carry out the command.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace spec {

// The command is not understood or names an object that does not exist.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The binding has no way to express the command.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Command {
  public:
    // Splits the line at its spaces.
    explicit Command(const std::string& line);

    const std::vector<std::string>& words() const { return words_; }
    // The first word, or "" if there is none.
    std::string verb() const { return words_.empty() ? "" : words_[0]; }
    // The name of the object that the command makes or uses: the word after the verb, or "".
    std::string name() const { return words_.size() < 2 ? "" : words_[1]; }
    // The words after the name, as a command of its own.
    std::string rest() const;

    // The value of a key.
    std::optional<std::string> value(const std::string& key) const;
    // The value of a key that must be there.
    std::string needed(const std::string& key) const;
    std::int64_t integer(const std::string& key, std::int64_t otherwise) const;
    std::uint64_t count(const std::string& key, std::uint64_t otherwise) const;
    bool is_set(const std::string& key) const { return integer(key, 0) != 0; }

  private:
    std::vector<std::string> words_;
};

// Splits a list like "1,2" into its parts.
std::vector<std::string> parts_of(const std::string& list);

// Writes a number with `digits` significant digits, as "%.9g" does with 9.
std::string text_of(double number, int digits);

}  // namespace spec
