#include "service/metrics/exposition.h"

#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace pace::metrics {

namespace {

std::string_view type_name(Type type, Format format) {
    switch (type) {
        case Type::counter:
            return "counter";
        case Type::histogram:
            return "histogram";
        case Type::info:
            return format == Format::openmetrics ? "info" : "gauge";
        case Type::gauge:
            break;
    }
    return "gauge";
}

std::string_view suffix(Type type) {
    switch (type) {
        case Type::counter:
            return "_total";
        case Type::info:
            return "_info";
        case Type::gauge:
        case Type::histogram:
            break;
    }
    return "";
}

void append_number(std::string& text, double value) {
    if (std::isnan(value))
        text += "NaN";
    else if (std::isinf(value))
        text += value > 0 ? "+Inf" : "-Inf";
    else
        fmt::format_to(std::back_inserter(text), "{}", value);
}

void append_sample(std::string& text, std::string_view name, std::string_view suffix_of_name,
                   std::string_view labels, double value) {
    text += name;
    text += suffix_of_name;
    if (!labels.empty()) {
        text += '{';
        text += labels;
        text += '}';
    }
    text += ' ';
    append_number(text, value);
    text += '\n';
}

std::string trimmed_lower(std::string_view text) {
    std::string result;
    for (const char c : text)
        if (c != ' ' && c != '\t')
            result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
}

// Returns the quality of a media range, or 1 if it has none.
double quality_of(std::string_view range) {
    const size_t at = range.find(";q=");
    if (at == std::string_view::npos) return 1;
    const std::string digits(range.substr(at + 3, 5));
    return std::strtod(digits.c_str(), nullptr);
}

}  // namespace

// Returns OpenMetrics if the client names it and prefers nothing else. Otherwise returns the plain
// format.
Format format_for(std::string_view accept) {
    double openmetrics = 0;
    double plain = 0;
    for (size_t begin = 0; begin < accept.size();) {
        const size_t end = std::min(accept.find(',', begin), accept.size());
        const std::string range = trimmed_lower(accept.substr(begin, end - begin));
        begin = end + 1;
        const double quality = quality_of(range);
        if (range.starts_with("application/openmetrics-text"))
            openmetrics = std::max(openmetrics, quality);
        else if (range.starts_with("text/plain") || range.starts_with("text/*"))
            plain = std::max(plain, quality);
    }
    return openmetrics > 0 && openmetrics >= plain ? Format::openmetrics : Format::prometheus;
}

std::string_view content_type(Format format) {
    return format == Format::openmetrics
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

Labels::Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
    for (const auto& [name, value] : labels) add(name, value);
}

Labels Labels::with(std::string_view name, std::string_view value) const {
    Labels more = *this;
    more.add(name, value);
    return more;
}

void Labels::add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ',';
    text_ += name;
    text_ += "=\"";
    for (const char letter : value) {
        const auto byte = static_cast<unsigned char>(letter);
        if (letter == '\\' || letter == '"') text_ += '\\';
        // Control characters are replaced, because a terminal may show the text.
        text_ += byte < 0x20 || byte == 0x7F ? '?' : letter;
    }
    text_ += '"';
}

std::string Exposition::head_of(const Family& family) const {
    const bool open = format_ == Format::openmetrics;
    // In the plain format, the family has the same name as its samples.
    const std::string name = fmt::format("{}{}", family.name, open ? "" : suffix(family.type));
    std::string head = fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, family.help, name,
                                   type_name(family.type, format_));
    if (open && !family.unit.empty()) head += fmt::format("# UNIT {} {}\n", name, family.unit);
    return head;
}

std::string& Exposition::samples_of(const Family& family) {
    const auto [entry, is_new] = samples_.try_emplace(&family);
    if (is_new) order_.push_back(&family);
    return entry->second;
}

void Exposition::add(const Family& family, const Labels& labels, double value) {
    append_sample(samples_of(family), family.name, suffix(family.type), labels.text(), value);
}

void Exposition::add_histogram(const Family& family, const Labels& labels,
                               const std::vector<double>& counts) {
    std::string& samples = samples_of(family);
    double all = 0;
    double sum = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
        all += counts[i];
        sum += counts[i] * static_cast<double>(i);
        append_sample(samples, family.name, "_bucket",
                      labels.with("le", fmt::format("{}.0", i)).text(), all);
    }
    append_sample(samples, family.name, "_bucket", labels.with("le", "+Inf").text(), all);
    append_sample(samples, family.name, "_sum", labels.text(), sum);
    append_sample(samples, family.name, "_count", labels.text(), all);
}

std::string Exposition::text() const {
    std::string all;
    size_t bytes = 0;
    for (const auto& [family, samples] : samples_) bytes += samples.size() + 512;
    all.reserve(bytes);
    for (const Family* family : order_) {
        all += head_of(*family);
        all += samples_.at(family);
    }
    if (format_ == Format::openmetrics) all += "# EOF\n";
    return all;
}

}  // namespace pace::metrics
