#include <pace/pace.hpp>

#include <cstdio>

// Prints the version of the library that the program has found. Then makes one call that throws and
// one call that returns a value.
int main() {
    std::printf("libpace %u\n", pace::library_version());
    try {
        const pace::session session{pace::session_options{}};
        return 1;
    } catch (const pace::invalid_error& error) {
        std::printf("%s\n", error.what());
    }
    return pace::query(pace::nothrow, "policies") ? 0 : 1;
}
