"""Where a Gemini request goes, with which headers, and what its body holds beside contents, tools and options."""

import pytest

from llm_foundation.chat import ChatMessage
from llm_foundation.exceptions import SecretUnavailable, UnknownAdapter, UnusableConfiguration
from tests.providers.builders import HELLO, make_request, sent
from tests.providers.gemini_builders import VERTEX, make_gemini

GEMINI = "https://generativelanguage.googleapis.com/v1beta"


@pytest.mark.parametrize(
    ("base_url", "model", "url"),
    [
        ("", "gemini-2.5-flash", f"{GEMINI}/models/gemini-2.5-flash"),
        (f"{GEMINI}/", "models/gemini-2.5-flash", f"{GEMINI}/models/gemini-2.5-flash"),
        (f"{GEMINI}/models", "gemini-2.5-flash", f"{GEMINI}/models/gemini-2.5-flash"),
        ("https://generativelanguage.googleapis.com", "tunedModels/shop-1", f"{GEMINI}/tunedModels/shop-1"),
        ("https://gateway.example/google/v1", "gemini-x", "https://gateway.example/google/v1/models/gemini-x"),
        ("", "a b?c#d", f"{GEMINI}/models/a%20b%3Fc%23d"),
        (VERTEX, "gemini-2.5-flash", f"{VERTEX}/publishers/google/models/gemini-2.5-flash"),
        ("https://aiplatform.googleapis.com", "gemini-x", f"{VERTEX}/publishers/google/models/gemini-x"),
        (f"{VERTEX}/publishers/google/models", "gemini-x", f"{VERTEX}/publishers/google/models/gemini-x"),
        (VERTEX, "google/gemini-x", f"{VERTEX}/publishers/google/models/gemini-x"),
        (VERTEX, "publishers/acme/models/m@1", f"{VERTEX}/publishers/acme/models/m@1"),
        (
            "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu",
            "gemini-x",
            "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/google/models/gemini-x",
        ),
    ],
)
def test_the_address_names_the_model(base_url, model, url):
    adapter = make_gemini(model, base_url=base_url)
    assert adapter.request(make_request()).url == f"{url}:generateContent"
    assert adapter.request(make_request(stream=True)).url == f"{url}:streamGenerateContent?alt=sse"


def test_a_profile_says_that_an_address_speaks_vertex():
    assert make_gemini("m", profile="vertex").request(make_request()).url == (
        f"{VERTEX}/publishers/google/models/m:generateContent"
    )
    gateway = make_gemini("m", profile="vertex", base_url="https://gateway.example/vertex/v1")
    assert gateway.request(make_request()).url == (
        "https://gateway.example/vertex/v1/publishers/google/models/m:generateContent"
    )


def test_an_unknown_profile_is_told_with_those_that_are_known():
    with pytest.raises(UnknownAdapter, match="'shop' names the profile 'groq'; known profiles are gemini, vertex"):
        make_gemini(profile="groq")


@pytest.mark.parametrize("base_url", ["", VERTEX])
def test_the_key_goes_into_a_header_and_never_into_the_address(base_url):
    request = make_gemini(base_url=base_url, key="AIza-secret").request(make_request(stream=True))
    assert request.headers == {
        "x-goog-api-key": "AIza-secret",
        "content-type": "application/json",
        "accept": "text/event-stream",
    }
    assert "AIza" not in request.url
    assert b"AIza" not in (request.body or b"")
    assert "AIza" not in repr(request)


def test_without_a_key_there_is_no_header_for_it():
    assert "x-goog-api-key" not in make_gemini(key=None).request(make_request()).headers


def test_a_key_that_no_header_takes_is_refused():
    with pytest.raises(SecretUnavailable, match="'shop' holds characters that no key has"):
        make_gemini(key="a\nb")


def test_the_operators_headers_go_along():
    adapter = make_gemini(options={"headers": {"X-Goog-User-Project": "p"}})
    assert adapter.request(make_request()).headers["x-goog-user-project"] == "p"


def test_an_option_of_the_wrong_kind_is_refused():
    with pytest.raises(UnusableConfiguration, match="'json_schema_fields' cannot be 'no'"):
        make_gemini(options={"json_schema_fields": "no"})


def test_a_plain_request_holds_contents_only():
    assert make_gemini().request(make_request()).body == (b'{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}')


def test_all_system_messages_reach_the_model_wherever_they_stand():
    body = sent(
        make_gemini(), make_request(ChatMessage.system("Be brief."), HELLO, ChatMessage.system("It is Monday."))
    )
    assert body == {
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "It is Monday."}]},
    }


def test_system_messages_alone_are_said_by_the_user():
    body = sent(make_gemini(), make_request(ChatMessage.system("Write a haiku.")))
    assert body == {"contents": [{"role": "user", "parts": [{"text": "Write a haiku."}]}]}


def test_gemma_3_takes_no_system_instruction_so_the_user_says_it():
    body = sent(make_gemini("gemma-3-27b-it"), make_request(ChatMessage.system("Be brief."), HELLO))
    assert body == {
        "contents": [
            {"role": "user", "parts": [{"text": "Be brief."}]},
            {"role": "user", "parts": [{"text": "Hello"}]},
        ]
    }
    assert "systemInstruction" in sent(make_gemini("gemma-4-31b-it"), make_request(ChatMessage.system("S"), HELLO))


def test_what_the_operator_adds_joins_what_we_write():
    options = {
        "temperature": 0.5,
        "reasoning_effort": "high",
        "extra": {
            "generationConfig": {"topK": 40, "thinkingConfig": {"thinkingBudget": 2048}},
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
            "tools": [{"googleSearch": {}}],
            "contents": [],
            "systemInstruction": {},
        },
    }
    body = sent(make_gemini(), make_request(options=options))
    assert body == {
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "generationConfig": {
            "temperature": 0.5,
            "topK": 40,
            "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 2048},
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
        "tools": [{"googleSearch": {}}],
    }


def test_a_body_is_utf8_without_escapes_and_without_lone_surrogates():
    body = make_gemini().request(make_request(ChatMessage.user("Grüße \ud83d"))).body
    assert body == '{"contents":[{"role":"user","parts":[{"text":"Grüße \ufffd"}]}]}'.encode()
