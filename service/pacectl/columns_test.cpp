#include "service/pacectl/columns.h"

#include <gtest/gtest.h>

#include "service/pacectl/terminal.h"

namespace pace::pacectl {
namespace {

TEST(Columns, AreAsWideAsTheirWidestCellAndNumbersAreToTheRight) {
    Columns columns({"NAME", ">COUNT", "LAST"});
    columns.add({"ü", "7", "x"});
    columns.add({"longer", "1234567", ""});
    EXPECT_EQ(columns.text(" "),
              " NAME      COUNT  LAST\n"
              " ü             7  x\n"
              " longer  1234567\n");
}

TEST(Terminal, ShowsAsManyLinesAndAsMuchOfEachAsFit) {
    EXPECT_EQ(screen_text("abcdef\nüöä\nthird\n", 2, 3),
              "\033[Habc\033[K\r\n"
              "üöä\033[K\033[J");
    EXPECT_EQ(screen_text("", 2, 3), "\033[H\033[J");
}

}  // namespace
}  // namespace pace::pacectl
