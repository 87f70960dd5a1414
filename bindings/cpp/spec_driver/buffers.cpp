#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "handlers.hpp"

namespace spec {
namespace {

struct Element {
    const char* name;
    pace::element type;
    std::uint64_t bytes;
};

constexpr std::array<Element, 5> kElements = {{{"f32", pace::element::f32, 4},
                                               {"f64", pace::element::f64, 8},
                                               {"f16", pace::element::f16, 2},
                                               {"bf16", pace::element::bf16, 2},
                                               {"u32", pace::element::u32, 4}}};

// Accepts a type's name. Also accepts a number, which may be a type that does not exist.
Element element_of(const std::string& text) {
    for (const Element& element : kElements)
        if (element.name == text) return element;
    return {"?", static_cast<pace::element>(std::stoi(text)), 0};
}

const char* name_of(pace::element type) {
    for (const Element& element : kElements)
        if (element.type == type) return element.name;
    return "?";
}

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() { ::close(number_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }

  private:
    int number_;
};

std::unique_ptr<Descriptor> sealed_memfd(std::uint64_t bytes) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto size = static_cast<off_t>((bytes + page - 1) / page * page);
    auto made =
        std::make_unique<Descriptor>(::memfd_create("spec", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (::ftruncate(made->number(), size) != 0 ||
        ::fcntl(made->number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        throw Broken("there is no sealed memfd to be had");
    return made;
}

}  // namespace

std::string make_buffer(const Command& command, Objects& objects) {
    const auto session = objects.sessions.find(command.needed("session"));
    const Element element = element_of(command.needed("type"));
    const std::uint64_t count = command.count("count", 0);
    const std::string source = command.value("source").value_or("new");
    Buffer made;
    if (source == "pointer") {
        made.own = std::make_unique<OwnMemory>(static_cast<std::size_t>(count * element.bytes));
        made.buffer = session->import_memory(element.type, made.own->data(), count);
    } else if (source == "fd") {
        const auto descriptor = sealed_memfd(count * element.bytes);
        made.buffer = session->import_descriptor(element.type, descriptor->number(), count);
    } else {
        made.buffer = session->make_buffer(element.type, count);
    }
    objects.buffers.put(command.name(), std::move(made));
    return "";
}

std::string describe(const Command& command, Objects& objects) {
    const pace::buffer_info told = objects.buffers.find(command.name())->buffer.info();
    const std::string typestr = told.typestr;
    return std::string(" type=") + name_of(told.elements_are()) +
           " count=" + std::to_string(told.count) +
           " typestr=" + (typestr.empty() ? "none" : typestr) +
           " restored=" + (told.is_restored() ? "1" : "0") +
           " staged=" + (told.is_staged() ? "1" : "0");
}

// The name stays, so that cases can show what happens when a freed buffer is used.
std::string free_buffer(const Command& command, Objects& objects) {
    objects.buffers.find(command.name())->buffer.free();
    return "";
}

std::string release_buffer(const Command& command, Objects& objects) {
    objects.buffers.find(command.name())->buffer.release();
    return "";
}

std::string make_tensor(const Command& command, Objects& objects) {
    const auto buffer = objects.buffers.find(command.needed("buffer"));
    const auto major = static_cast<std::uint32_t>(command.count("major", 0));
    const auto tensor = objects.tensors.put(command.name(), buffer->buffer.to_dlpack(major));
    return " count=" + std::to_string(tensor->size()) + " code=" + std::to_string(tensor->code()) +
           " bits=" + std::to_string(tensor->bits());
}

}  // namespace spec
