// Exposition: writes metrics as text, in the two formats that Prometheus reads. Families come in
// the order in which they are first used. All samples of a family stand together, as both formats
// require. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pace::metrics {

enum class Format : uint8_t {
    prometheus,   // text, version 0.0.4
    openmetrics,  // text, version 1.0.0
};

// The format for a client that sends this Accept header.
Format format_for(std::string_view accept);
std::string_view content_type(Format format);

enum class Type : uint8_t { gauge, counter, info, histogram };

// A family of metrics. Families are constants: a family is identified by its address.
struct Family {
    std::string_view name;  // with its unit, without _total or _info
    Type type = Type::gauge;
    std::string_view unit;  // "seconds", "bytes"; empty: no unit
    std::string_view help;  // one line
};

// A series' labels. They are escaped once and used for many samples.
class Labels {
  public:
    Labels() = default;
    Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);
    Labels with(std::string_view name, std::string_view value) const;
    const std::string& text() const { return text_; }

  private:
    void add(std::string_view name, std::string_view value);
    std::string text_;
};

class Exposition {
  public:
    explicit Exposition(Format format) : format_(format) {}

    void add(const Family& family, const Labels& labels, double value);
    // counts[i] is the number of observations of value i.
    void add_histogram(const Family& family, const Labels& labels,
                       const std::vector<double>& counts);

    std::string text() const;

  private:
    std::string& samples_of(const Family& family);
    std::string head_of(const Family& family) const;

    Format format_;
    std::vector<const Family*> order_;
    std::unordered_map<const Family*, std::string> samples_;
};

}  // namespace pace::metrics
