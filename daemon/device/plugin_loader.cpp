#include "daemon/device/plugin_loader.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace pace::device {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

bool is_complete(const pace_device_plugin_table& table) {
    return table.name != nullptr && table.architectures != nullptr && table.check != nullptr &&
           table.error_text != nullptr && table.sum != nullptr && table.sum_segments != nullptr &&
           table.convert != nullptr && table.top_k_workspace != nullptr && table.top_k != nullptr &&
           table.merge_workspace != nullptr && table.merge != nullptr &&
           table.scatter_add != nullptr && table.gather != nullptr && table.scatter != nullptr;
}

}  // namespace

Result<const pace_device_plugin_table*> open_plugin(const std::string& file) {
    std::error_code unreadable;
    if (!std::filesystem::exists(file, unreadable))
        return make_error(ErrorKind::not_found, "there is no plug-in {}", file);
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return make_error(ErrorKind::corrupt, "the plug-in {} cannot be opened: {}", file,
                          dlerror());
    const auto entry =
        reinterpret_cast<pace_device_plugin_entry>(dlsym(library, "pace_device_plugin"));
    if (entry == nullptr)
        return make_error(ErrorKind::corrupt,
                          "{} is no device plug-in of Pace: it exports no pace_device_plugin",
                          file);
    const pace_device_plugin_table* const table = entry();
    if (table == nullptr)
        return make_error(ErrorKind::corrupt, "the plug-in {} gives no table", file);
    if (table->version != PACE_DEVICE_PLUGIN_VERSION || table->struct_size != sizeof(*table))
        return make_error(ErrorKind::version,
                          "the plug-in {} has interface {} (of {} bytes), this daemon {} (of {}): "
                          "install both from the same Pace",
                          file, table->version, table->struct_size, PACE_DEVICE_PLUGIN_VERSION,
                          sizeof(*table));
    if (!is_complete(*table))
        return make_error(ErrorKind::corrupt, "the plug-in {} leaves functions out", file);
    return table;
}

std::string plugin_folder() {
    namespace fs = std::filesystem;
    std::error_code failed;
    // Find the file that this code was loaded from: the daemon, or the library of an embedded one.
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void*>(&plugin_folder), &self) == 0 ||
        self.dli_fname == nullptr)
        return PACE_PLUGIN_FOLDER;
    fs::path program = fs::read_symlink("/proc/self/exe", failed);
    const fs::path loaded = fs::canonical(self.dli_fname, failed);
    if (!failed) program = loaded;
    for (const char* const candidate : {"../" PACE_PLUGIN_LIBDIR, "pace/plugins", "../plugins"}) {
        const fs::path folder = (program.parent_path() / candidate).lexically_normal();
        if (fs::is_directory(folder, failed)) return folder;
    }
    return PACE_PLUGIN_FOLDER;
}

}  // namespace pace::device
