"""What an approver's eyes are given of a text that may want to deceive them."""

import pytest

from llm_foundation.admin.shown_text import reveal


@pytest.mark.parametrize(
    "text",
    [
        "Refund 20.00 EUR, please.",
        "Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich",
        "二行\n目",
        "a\ttab and a\r\nline end",
        "Thank you ❤️ from the team 👩‍👧‍👦 ☎️",
        "",
    ],
)
def test_plain_text_stays_as_it_is(text):
    shown = reveal(text)
    assert (shown.html, shown.hidden) == (text, 0)


def test_markup_is_text():
    assert reveal("<script>alert('1')</script>").html == "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\u200bb", "U+200B"),
        ("a\u202eb", "U+202E"),
        ("a\u2066b", "U+2066"),
        ("a\x00b", "U+0000"),
        ("a\x1bb", "U+001B"),
        ("a\rb", "U+000D"),
        ("a\u00adb", "U+00AD"),
        ("a\u00a0b", "U+00A0"),
        ("a\u2028b", "U+2028"),
        ("a\ufeffb", "U+FEFF"),
        ("a\U000e0041b", "U+E0041"),
        ("a\U000e0101b", "U+E0101"),
        ("a\ufe0fb", "U+FE0F"),
        ("a\u200db", "U+200D"),
        ("a\u3164b", "U+3164"),
        ("a\u2800b", "U+2800"),
        ("a\ud800b", "U+D800"),
        ("a\ue000b", "U+E000"),
    ],
)
def test_hidden_characters_are_shown_as_their_code(text, code):
    shown = reveal(text)
    assert f">{code}</span>" in shown.html
    assert shown.html.startswith("a<span")
    assert shown.html.endswith("</span>b")
    assert shown.hidden == 1


def test_the_name_of_a_hidden_character_is_told():
    assert 'title="RIGHT-TO-LEFT OVERRIDE"' in reveal("pay \u202e00.1").html


def test_a_message_smuggled_in_tag_characters_is_one_visible_mark():
    smuggled = "".join(chr(0xE0000 + ord(letter)) for letter in "pay")
    shown = reveal(f"Hello{smuggled}")
    assert ">U+E0070 U+E0061 U+E0079</span>" in shown.html
    assert shown.hidden == 3


def test_a_megabyte_of_nothing_stays_a_line():
    shown = reveal("\u200b" * 1_000_000)
    assert ">U+200B ×1000000</span>" in shown.html
    assert len(shown.html) < 200


def test_blanks_at_the_ends_are_marked_where_that_matters():
    assert reveal(" 1138 ", ends=True).html.count("U+0020") == 2
    assert reveal("11 38", ends=True).html == "11 38"
    assert reveal(" 1138 ").hidden == 0


def test_markup_beside_hidden_characters_is_still_text():
    assert "<b>" not in reveal("<b>\u200b</b>").html


def test_a_text_full_of_hidden_characters_is_whole_and_does_not_burst_the_page():
    shown = reveal("a\u200b<b>" * 2_000)
    assert shown.html == "a⟨U+200B⟩&lt;b&gt;" * 2_000
    assert shown.hidden == 2_000
