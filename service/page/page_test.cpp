#include "service/page/page.h"

#include <regex>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "service/page/assets.h"

namespace pace::page {
namespace {

std::string header(const http::Response& response, std::string_view name) {
    for (const auto& [key, value] : response.headers)
        if (key == name) return value;
    return {};
}

TEST(Page, BeginsAtTheRootAndHasItsFilesBelowAssets) {
    EXPECT_EQ(page("/").status, 200);
    EXPECT_EQ(page("/").type, "text/html; charset=utf-8");
    EXPECT_EQ(page("/assets/main.js").type, "text/javascript; charset=utf-8");
    EXPECT_EQ(page("/assets/style.css").type, "text/css; charset=utf-8");
    EXPECT_EQ(page("/assets/icon.svg").type, "image/svg+xml");
    for (const char* path : {"", "/index", "/assets", "/assets/", "/assets/none.js",
                             "/assets/../main.js", "main.js", "//"})
        EXPECT_EQ(page(path).status, 404) << path;
}

TEST(Page, TellsTheBrowserToTrustNothingElse) {
    for (const Asset& asset : assets()) {
        const auto response = page("/assets/" + std::string(asset.name));
        const std::string policy = header(response, "Content-Security-Policy");
        EXPECT_NE(policy.find("default-src 'none'"), std::string::npos) << asset.name;
        EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
        EXPECT_EQ(policy.find("unsafe"), std::string::npos);
        EXPECT_EQ(policy.find("http"), std::string::npos);
        EXPECT_EQ(header(response, "X-Content-Type-Options"), "nosniff");
        EXPECT_EQ(header(response, "Referrer-Policy"), "no-referrer");
    }
}

// The policy makes the browser refuse such code. The code should not contain it either.
TEST(Page, MakesNoHtmlOutOfTextsAndAsksNoOtherHost) {
    const std::regex forbidden(
        R"((inner|outer)HTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\b|)"
        R"(new Function|setTimeout\(["'`]|\son[a-z]+=|javascript:|\bstyle=|<style|localStorage|document\.cookie)");
    const std::regex elsewhere(R"((https?:)?//[a-z0-9.-]+\.[a-z]+)");
    for (const Asset& asset : assets()) {
        const std::string text(asset.bytes);
        std::smatch found;
        EXPECT_FALSE(std::regex_search(text, found, forbidden))
            << asset.name << ": " << found.str();
        for (std::sregex_iterator it(text.begin(), text.end(), elsewhere), end; it != end; ++it)
            EXPECT_EQ(it->str(), "http://www.w3.org") << asset.name;  // the namespace of drawings
    }
}

TEST(Page, EveryFileThatAnotherOneNamesIsThere) {
    const std::regex named(R"re((?:from |href="|src=")"?(?:\./|assets/)([\w.]+)")re");
    size_t names = 0;
    for (const Asset& asset : assets()) {
        const std::string text(asset.bytes);
        for (std::sregex_iterator it(text.begin(), text.end(), named), end; it != end;
             ++it, ++names)
            EXPECT_EQ(page("/assets/" + it->str(1)).status, 200)
                << asset.name << " names " << it->str(1);
    }
    EXPECT_GT(names, assets().size());
}

TEST(Page, NoFileIsTooLongToRead) {
    for (const Asset& asset : assets()) EXPECT_LT(asset.bytes.size(), 12'000U) << asset.name;
}

}  // namespace
}  // namespace pace::page
