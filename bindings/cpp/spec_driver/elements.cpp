#include <string>
#include <vector>

#include "handlers.hpp"

namespace spec {
namespace {

void put(float& element, const std::string& number) {
    element = std::stof(number);
}
void put(double& element, const std::string& number) {
    element = std::stod(number);
}
void put(std::uint32_t& element, const std::string& number) {
    element = static_cast<std::uint32_t>(std::stoul(number));
}
template <class Half>
void put(Half& element, const std::string& bits) {
    element = Half::from_bits(static_cast<std::uint16_t>(std::stoul(bits)));
}

std::string text(float element) {
    return text_of(static_cast<double>(element), 9);
}
std::string text(double element) {
    return text_of(element, 17);
}
std::string text(std::uint32_t element) {
    return std::to_string(element);
}
template <class Half>
std::string text(const Half& element) {
    return std::to_string(element.bits);
}

// Calls `use` with the buffer's elements in their own type.
template <class Use>
void with_elements(const Command& command, Objects& objects, const Use& use) {
    const auto found = objects.buffers.find(command.name());
    const pace::any_buffer& buffer = found->buffer;
    if (buffer.data() == nullptr) throw Broken("the buffer has no memory");
    switch (buffer.type()) {
        case pace::element::f32:
            return use(buffer.elements<float>());
        case pace::element::f64:
            return use(buffer.elements<double>());
        case pace::element::f16:
            return use(buffer.elements<pace::f16>());
        case pace::element::bf16:
            return use(buffer.elements<pace::bf16>());
        case pace::element::u32:
            return use(buffer.elements<std::uint32_t>());
    }
}

template <class Elements>
std::string list_of(const Elements& elements, std::size_t first, std::size_t end) {
    std::string list = " values=";
    for (std::size_t at = first; at < end && at < elements.size(); ++at)
        list += (at == first ? "" : ",") + text(elements[at]);
    return list;
}

}  // namespace

std::string write(const Command& command, Objects& objects) {
    const std::vector<std::string> numbers = parts_of(command.needed("values"));
    const auto first = static_cast<std::size_t>(command.count("first", 0));
    with_elements(command, objects, [&](auto elements) {
        for (std::size_t at = 0; at < numbers.size(); ++at) {
            if (first + at >= elements.size()) throw Broken("these are more than the buffer has");
            put(elements[first + at], numbers[at]);
        }
    });
    return "";
}

std::string fill(const Command& command, Objects& objects) {
    const std::string number = command.needed("value");
    with_elements(command, objects, [&](auto elements) {
        for (auto& element : elements) put(element, number);
    });
    return "";
}

std::string read(const Command& command, Objects& objects) {
    std::string list;
    const auto first = static_cast<std::size_t>(command.count("first", 0));
    with_elements(command, objects, [&](auto elements) {
        const auto count =
            static_cast<std::size_t>(command.count("count", elements.size() - first));
        list = list_of(elements, first, first + count);
    });
    return list;
}

std::string read_tensor(const Command& command, Objects& objects) {
    const auto tensor = objects.tensors.find(command.name());
    const pace::span<float> elements = tensor->elements<float>();
    return list_of(elements, 0, elements.size());
}

}  // namespace spec
