// option_reference: prints docs/options.md, from the tables of policies and options.
//
//     option_reference > docs/options.md
#include <cstdio>

#include "protocol/options/description.h"

int main() {
    std::fputs(pace::protocol::options_page().c_str(), stdout);
    return 0;
}
