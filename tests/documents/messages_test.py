#!/usr/bin/env python3
"""What messages.py finds in sources and pages, and what it finds wrong."""

import unittest

import messages


class CppStrings(unittest.TestCase):
    def strings(self, *lines):
        return messages.cpp_strings("\n".join(lines))

    def test_strings_that_are_joined_are_one(self):
        self.assertEqual(self.strings('say("no daemon "  // why', '    "answers at {} "', '    /* so */ "({})", endpoint);'),
                         ["no daemon answers at \0 (\0)"])

    def test_strings_with_something_between_are_apart(self):
        self.assertEqual(self.strings('is ? "one" : "two" + "three"'), ["one", "two", "three"])

    def test_comments_and_characters_are_none(self):
        self.assertEqual(self.strings('// "never"', '/* "nor', 'this" */ put(\'"\'); take("that"); // 1\'000'), ["that"])

    def test_quotes_within(self):
        self.assertEqual(self.strings(r'"job \"{}\" has\n"', 'R"(a "raw" one)"'), ['job "\0" has\na "raw" one'])


class PythonStrings(unittest.TestCase):
    def test_values_and_docstrings(self):
        source = '"""Never."""\ndef f():\n    """Nor this."""\n    raise E(f"{a} is set and {b!r} is not; "\n            "set both")\n'
        self.assertEqual(messages.python_strings(source), ["\0 is set and \0 is not; set both"])


class Pages(unittest.TestCase):
    STRINGS = ["no daemon answers at \0 (\0); start paced", "the job's membership is changing"]

    def wrong(self, page):
        return messages.wrong_quotations(page, self.STRINGS)

    def test_what_is_there(self):
        self.assertEqual(self.wrong("* `no daemon answers at … (…)`: start `paced`.\n"
                                    "* `no daemon answers` or `membership is changing`: wait.\n"), [])

    def test_a_word_that_has_changed(self):
        wrong = self.wrong("Text.\n\n* `no daemon replies at … (…)`: start it.\n")
        self.assertEqual(len(wrong), 1)
        self.assertIn("line 3: 'no daemon replies", wrong[0])

    def test_the_second_of_an_item(self):
        self.assertEqual(len(self.wrong("* `no daemon answers` or `membership has changed`: wait.\n")), 1)

    def test_pieces_in_another_order(self):
        self.assertEqual(len(self.wrong("* `start paced…no daemon answers`: no.\n")), 1)

    def test_pieces_of_two_strings(self):
        self.assertEqual(len(self.wrong("* `no daemon answers…membership is changing`: no.\n")), 1)

    def test_a_value_is_no_text(self):
        self.assertEqual(len(self.wrong("* `no daemon answers at unix:/run (`: no.\n")), 1)

    def test_a_quotation_in_a_sentence(self):
        self.assertEqual(len(self.wrong("* `no daemon answers`: or `the daemon at … sleeps`.\n")), 1)

    def test_what_is_too_short(self):
        self.assertEqual(len(self.wrong("* `no … at …`: no.\n")), 1)

    def test_a_page_without_any(self):
        self.assertEqual(self.wrong("Text with `code`.\n\n```sh\n* `no`\n```\n"), ["it quotes no message"])


if __name__ == "__main__":
    unittest.main()
