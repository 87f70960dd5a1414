// option_reference: prints docs/options.md, or the constants of capi/pace.h, from the tables of
// policies and options.
//
//     option_reference > docs/options.md
//     option_reference constants
#include <cstdio>
#include <string>
#include <string_view>

#include "protocol/options/description.h"

int main(int argc, char** argv) {
    const bool wants_constants = argc > 1 && std::string_view(argv[1]) == "constants";
    const std::string text =
        wants_constants ? pace::protocol::constants() : pace::protocol::options_page();
    std::fputs(text.c_str(), stdout);
    return 0;
}
