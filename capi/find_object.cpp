// _dl_find_object: finds the object in which a return address lies. The unwinder that is linked
// into libpace.so calls this function.
//
// If glibc has the function when GCC is built (from glibc 2.35 on), GCC's unwinder asks glibc for
// it and asks nothing else. libpace.so must load with glibc 2.34. libpace.so therefore brings its
// own function, which uses dl_iterate_phdr. Every glibc has dl_iterate_phdr. The function is slower
// than glibc's, and only exceptions call it. capi/pace.map keeps the function inside libpace.so:
// the rest of the process uses glibc's function.
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

// Returns 1 when the object contains the address. The value 1 ends the iteration.
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

// Returns 0 if there is such an object, else -1.
extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
    Search search{reinterpret_cast<ElfW(Addr)>(address), result};
    return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}

#endif
