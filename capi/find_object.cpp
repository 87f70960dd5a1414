// _dl_find_object: in which object a return address lies, for the unwinder that is linked into libpace.so.
//
// GCC's unwinder asks glibc for it where glibc has it when GCC is built, from 2.35 on, and then asks nothing else. libpace.so is to
// load with glibc 2.34. So it brings its own, by dl_iterate_phdr, which every glibc has. It is slower, and only exceptions ask for it.
// capi/pace.map keeps it inside: the rest of the process goes on with glibc's.
#include <dlfcn.h>
#include <link.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE

#if DLFO_STRUCT_HAS_EH_DBASE || DLFO_STRUCT_HAS_EH_COUNT
#error "this machine's struct dl_find_object has fields that are not filled here"
#endif

namespace {

struct Search {
    ElfW(Addr) address;
    dl_find_object* result;
};

// 1 when the object has the address, which ends the iteration.
int look_into(dl_phdr_info* object, size_t /*bytes*/, void* data) {
    const Search& search = *static_cast<Search*>(data);
    void* eh_frame = nullptr;
    const ElfW(Phdr)* holds = nullptr;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const ElfW(Addr) begin = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && search.address >= begin &&
            search.address - begin < segment.p_memsz)
            holds = &segment;
        if (segment.p_type == PT_GNU_EH_FRAME) eh_frame = reinterpret_cast<void*>(begin);
    }
    if (holds == nullptr || eh_frame == nullptr) return 0;
    const ElfW(Addr) begin = object->dlpi_addr + holds->p_vaddr;
    *search.result = {};
    search.result->dlfo_map_start = reinterpret_cast<void*>(begin);
    search.result->dlfo_map_end = reinterpret_cast<void*>(begin + holds->p_memsz);
    search.result->dlfo_eh_frame = eh_frame;
    return 1;
}

}  // namespace

// 0 if there is such an object, else -1.
extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
    Search search{reinterpret_cast<ElfW(Addr)>(address), result};
    return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}

#endif
