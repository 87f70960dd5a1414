#include "service/pacectl/columns/columns.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pace::pacectl
