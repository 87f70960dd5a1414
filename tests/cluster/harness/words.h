// What a text for a person must say.
#pragma once

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace pace::cluster {

// Expects that the text has each of these words.
inline void expect_words(const std::string& text, std::initializer_list<const char*> words) {
    for (const char* word : words)
        EXPECT_NE(text.find(word), std::string::npos) << word << " in:\n" << text;
}

}  // namespace pace::cluster
