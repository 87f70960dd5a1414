#include "protocol/options/names.h"

#include <gtest/gtest.h>

#include <string>

#include "protocol/options/limits.h"
#include "protocol/options/printable.h"

namespace pace::protocol {
namespace {

TEST(Names, LettersDigitsAndThreeSignsMakeAName) {
    EXPECT_TRUE(is_name("Node_1.rack-2"));
    EXPECT_TRUE(is_name(std::string(kNameBytesMax, 'a')));
    EXPECT_FALSE(is_name(std::string(kNameBytesMax + 1, 'a')));
    for (const char* other : {"", "a b", "a/b", "a\n", "caf\xc3\xa9"}) EXPECT_FALSE(is_name(other));
}

TEST(Names, AJobIsNotNamedAsAFolderThatIsThereAlready) {
    EXPECT_TRUE(check_job_name("..."));
    for (const char* other : {".", ".."}) {
        const auto checked = check_job_name(other);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().message,
                  std::string("name is ") + other + ", as a folder's; give the job another");
    }
}

TEST(Names, ARefusalDoesNotRepeatTheBytesOfAJobsName) {
    const auto checked = check_job_name("a\x1b[2J");
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().message,
              "name has a byte that is not allowed; use letters, digits, '.', '_' and '-'");
}

TEST(Printable, OtherBytesThanPrintableAsciiBecomeQuestionMarks) {
    EXPECT_EQ(printable("a ~"), "a ~");
    EXPECT_EQ(printable("\x1b[2J\x7f\xc3\xa9"), "?[2J???");
}

}  // namespace
}  // namespace pace::protocol
