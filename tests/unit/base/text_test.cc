#include "base/text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split(",", ','), (std::vector<std::string_view>{"", ""}));
}

TEST(Text, PathsAndNamesHaveParts) {
  EXPECT_EQ(base_name("/a/b/c"), "c");
  EXPECT_EQ(base_name("c"), "c");
  EXPECT_EQ(base_name("a/"), "");
  EXPECT_EQ(folder_of("/a/b/c"), "/a/b");
  EXPECT_EQ(folder_of("/c"), "");
  EXPECT_EQ(folder_of("c"), ".");
  EXPECT_EQ(first_label("worker-0.job.svc"), "worker-0");
  EXPECT_EQ(first_label("worker-0"), "worker-0");
}

TEST(Text, WordsAreNeverEmpty) {
  EXPECT_EQ(words_of(" a\tbc  d\r\n"), (std::vector<std::string_view>{"a", "bc", "d"}));
  EXPECT_TRUE(words_of("").empty());
  EXPECT_TRUE(words_of(" \t").empty());
}

TEST(Text, TrimTakesWhiteSpaceOfBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, IntegersAreParsedWholeOrNotAtAll) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", "-", "+1", " 1", "1 ", "1x", "0x10", "9223372036854775808"}) {
    EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
  }
}

TEST(Text, NumbersAreFinite) {
  EXPECT_EQ(parse_number("0.5"), 0.5);
  EXPECT_EQ(parse_number("1e3"), 1000);
  for (const char* bad : {"", "nan", "inf", "1e999", "1.5x"})
    EXPECT_EQ(parse_number(bad), std::nullopt) << bad;
}

TEST(Text, DurationsTakeUnitsAndDefaultToSeconds) {
  EXPECT_EQ(parse_duration("30"), seconds(30));
  EXPECT_EQ(parse_duration("1.5s"), milliseconds(1500));
  EXPECT_EQ(parse_duration("250ms"), milliseconds(250));
  EXPECT_EQ(parse_duration("5m"), minutes(5));
  EXPECT_EQ(parse_duration("2h"), std::chrono::hours(2));
  EXPECT_EQ(parse_duration("0"), Duration::zero());
  for (const char* bad : {"", "s", "ms", "-1", "5d", "1e300", "nan"}) {
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  }
}

TEST(Text, DurationsReadNaturally) {
  EXPECT_EQ(format_duration(milliseconds(250)), "250 ms");
  EXPECT_EQ(format_duration(std::chrono::microseconds(999'400)), "999 ms");
  EXPECT_EQ(format_duration(std::chrono::microseconds(999'600)), "1 s");
  EXPECT_EQ(format_duration(milliseconds(1500)), "1.5 s");
  EXPECT_EQ(format_duration(seconds(125)), "2 min 5 s");
  EXPECT_EQ(format_duration(minutes(150)), "2 h 30 min");
}

TEST(Text, LogValuesAreQuotedOnlyWhenNeeded) {
  EXPECT_EQ(quote_if_needed("plain/value:1"), "plain/value:1");
  EXPECT_EQ(quote_if_needed(""), "\"\"");
  EXPECT_EQ(quote_if_needed("two words"), "\"two words\"");
  EXPECT_EQ(quote_if_needed("a\"b\\c\nd\te\x01"), "\"a\\\"b\\\\c\\nd\\te\\x01\"");
}

TEST(Text, ShellJoinCanBePastedIntoAShell) {
  EXPECT_EQ(shell_join({"python3", "-c", "print('hi')", ""}),
            "python3 -c 'print('\\''hi'\\'')' ''");
}

TEST(Text, UtcTimeHasMilliseconds) {
  EXPECT_EQ(format_utc_ms(WallTime(milliseconds(1'769'862'896'789))), "2026-01-31T12:34:56.789Z");
}

TEST(Text, ClippingNeverCutsACharacter) {
  EXPECT_EQ(clip_utf8("abc", 5), "abc");
  EXPECT_EQ(clip_utf8("abc", 2), "ab");
  EXPECT_EQ(clip_utf8("a\xc3\xa4z", 2), "a");
  EXPECT_EQ(clip_utf8("\xe2\x82\xac", 2), "");
}

TEST(Text, CaseChangesOnlyAscii) {
  EXPECT_EQ(to_lower("AbC\xc3\x84"), "abc\xc3\x84");
  EXPECT_EQ(to_upper("sig_term"), "SIG_TERM");
}

TEST(Text, PrintableUtf8KeepsTextAndLines) {
  EXPECT_EQ(printable_utf8(""), "");
  EXPECT_EQ(printable_utf8("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable_utf8("gr\xc3\xb6\xc3\x9f"
                           "e \xe2\x9c\x93 \xf0\x9f\x94\xa5"),
            "gr\xc3\xb6\xc3\x9f"
            "e \xe2\x9c\x93 \xf0\x9f\x94\xa5");
}

TEST(Text, PrintableUtf8ReplacesWhatIsNoUtf8) {
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(printable_utf8("a\xff"
                           "b"),
            "a" + replacement + "b");
  EXPECT_EQ(printable_utf8("a\xe2\x9c"), "a" + replacement + replacement);             // cut short
  EXPECT_EQ(printable_utf8("\xc0\xaf"), replacement + replacement);                    // overlong
  EXPECT_EQ(printable_utf8("\xed\xb3\xbf"), replacement + replacement + replacement);  // surrogate
  EXPECT_EQ(printable_utf8("\xf4\x90\x80\x80").size(), 4 * replacement.size());        // > U+10FFFF
  EXPECT_EQ(printable_utf8("\x80"), replacement);
}

TEST(Text, PrintableUtf8DisarmsControlCharacters) {
  EXPECT_EQ(printable_utf8("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable_utf8("a\r\x7f"), "a\\r\\x7f");
  EXPECT_EQ(printable_utf8("\xc2\x9b"
                           "2J"),
            "\\x9b2J");  // CSI as one C1 character
  EXPECT_EQ(printable_utf8("\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(printable_utf8(std::string_view("\0", 1)), "\\x00");
}

TEST(Text, OneLineEscapesLineBreaksToo) {
  EXPECT_EQ(one_line("train.py\r"), "train.py\\r");
  EXPECT_EQ(one_line("a\n\tb"), "a\\n\\tb");
  EXPECT_EQ(quote_if_needed("a\xc2\x9b"
                            "2J\r"),
            "\"a\\x9b2J\\r\"");
}

// Texts that are shown in another order than they are read (CVE-2021-42574), and lines that are
// none.
TEST(Text, WhatTurnsLinesAroundIsWrittenOut) {
  EXPECT_EQ(one_line("a\u202eb\u2069"), "a\\u202eb\\u2069");
  EXPECT_EQ(printable_utf8("a\u2028b\u2029c\n"), "a\\u2028b\\u2029c\n");
  for (const char* shown : {"\u2027", "\u202f", "\u2065", "\u206a", "\u00a0", "\u2713"})
    EXPECT_EQ(one_line(shown), shown);
  EXPECT_EQ(hidden_character("\u202a"), char32_t{0x202a});
  EXPECT_EQ(hidden_character(""), std::nullopt);
  EXPECT_EQ(hidden_character("\xe2\x80"), std::nullopt);  // cut short: no UTF-8
}

TEST(Text, WhatWasCleanedStaysAsItIs) {
  const std::string all = "\x1b\\\\x1b\xff\xc2\x9b\u202e\n\tgr\u00fc\u00df";
  EXPECT_EQ(one_line(one_line(all)), one_line(all));
  EXPECT_EQ(printable_utf8(printable_utf8(all)), printable_utf8(all));
  EXPECT_EQ(one_line(printable_utf8(all)), one_line(all));
}

}  // namespace
}  // namespace muster
