#include "data_set.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

namespace pace::bench {

namespace {

constexpr std::string_view kMagic = "PACECSR1";

template <typename Element>
bool read_all(std::ifstream& file, std::vector<Element>& ret_elements, size_t count) {
    ret_elements.resize(count);
    file.read(reinterpret_cast<char*>(ret_elements.data()),
              static_cast<std::streamsize>(count * sizeof(Element)));
    return file.good();
}

}  // namespace

base::Result<DataSet> DataSet::read(const std::string& path) {
    const auto broken = [&path](std::string_view what) {
        return base::make_error(base::ErrorKind::corrupt, "{}: {}; make it anew", path, what);
    };
    std::ifstream file(path, std::ios::binary);
    std::array<char, kMagic.size()> magic{};
    std::array<uint64_t, 3> sizes{};
    file.read(magic.data(), magic.size());
    file.read(reinterpret_cast<char*>(sizes.data()), sizeof(sizes));
    if (!file || std::string_view(magic.data(), magic.size()) != kMagic)
        return broken("it is no data set of this program");
    DataSet data;
    data.features = sizes[1];
    if (!read_all(file, data.begins, sizes[0] + 1) || !read_all(file, data.indices, sizes[2]) ||
        !read_all(file, data.values, sizes[2]) || !read_all(file, data.labels, sizes[0]))
        return broken("it ends too early");
    const bool in_range = std::all_of(data.indices.begin(), data.indices.end(),
                                      [&data](uint32_t index) { return index < data.features; });
    if (!in_range || data.begins.back() != sizes[2] ||
        !std::is_sorted(data.begins.begin(), data.begins.end()))
        return broken("its samples are not what it says");
    return data;
}

}  // namespace pace::bench
