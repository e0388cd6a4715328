"""What hypothesis builds messages, states and hostile JSON from."""

import copy
from typing import Any

from hypothesis import strategies as st

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, ProviderState, StateOwner, TextPart, ToolCall

clean_texts = st.text(max_size=12)
hostile_texts = st.text(st.characters(), max_size=12)
names = st.text("abcdefghij_", min_size=1, max_size=12)
ids = st.text("abcdef0123456789_-", min_size=1, max_size=12)

json_leaves = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | clean_texts
)
json_values = st.recursive(
    json_leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(clean_texts, inner, max_size=4),
    max_leaves=12,
)
json_objects = st.dictionaries(clean_texts, json_values, max_size=4)


def nested(depth: int, leaf: Any = 1) -> Any:
    """A list in a list, ``depth`` levels of them."""
    for _ in range(depth):
        leaf = [leaf]
    return leaf


any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**4000)
    | st.floats()
    | hostile_texts
    | st.builds(nested, st.sampled_from([1, 62, 63, 64, 65, 66, 2_000])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile_texts, inner, max_size=4),
    max_leaves=10,
)

tool_calls = st.builds(ToolCall, id=ids, name=names, arguments=json_objects) | st.builds(
    ToolCall, id=ids, name=names, invalid_arguments=clean_texts
)

text_parts = st.builds(TextPart, text=clean_texts)
image_parts = st.builds(
    ImagePart,
    url=st.sampled_from(["https://shop.example/a.png", "data:image/png;base64,aGk="]),
    detail=st.sampled_from([None, "auto", "low", "high"]),
)
file_parts = st.builds(FilePart, file_id=ids, filename=st.none() | names) | st.builds(
    FilePart, data=st.just("data:application/pdf;base64,aGk="), filename=st.none() | names
)

text_contents = clean_texts | st.lists(text_parts, min_size=1, max_size=3).map(tuple)
contents = clean_texts | st.lists(text_parts | image_parts | file_parts, min_size=1, max_size=3).map(tuple)

owners = st.builds(
    StateOwner,
    adapter=names,
    base_url=st.just("https://api.provider.example/v1"),
    model_family=names,
    credential_fingerprint=ids,
)
provider_states = st.builds(
    ProviderState,
    owner=owners,
    items=st.none() | st.lists(json_values, max_size=3).map(tuple),
    tool_call_bindings=st.dictionaries(ids, ids, max_size=3),
)

call_turns = st.builds(
    ChatMessage.assistant_tool_calls,
    st.lists(tool_calls, min_size=1, max_size=3),
    st.none() | text_contents,
    st.none() | provider_states,
)
answers = st.builds(ChatMessage.assistant, text_contents, provider_state=st.none() | provider_states)
results = st.builds(ChatMessage.tool_result, ids, contents)
messages = (
    st.builds(ChatMessage.system, text_contents)
    | st.builds(ChatMessage.user, contents)
    | answers
    | call_turns
    | results
)


@st.composite
def near_valid(draw: st.DrawFn, written: st.SearchStrategy[Any]) -> Any:
    """Something valid with one to three places replaced, removed, or joined by a key that nobody knows."""
    document = copy.deepcopy(draw(written))
    for _ in range(draw(st.integers(min_value=1, max_value=3))):
        container = draw(st.sampled_from(_containers(document)))
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        deed = draw(st.sampled_from(["replace", "remove", "add"]))
        if deed == "add" or not keys:
            _add(container, draw(hostile_texts), draw(any_json))
        elif deed == "replace":
            container[draw(st.sampled_from(keys))] = draw(any_json)
        else:
            del container[draw(st.sampled_from(keys))]
    return document


def _add(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container.append(value)


def _containers(document: Any) -> list[Any]:
    """Every object and list of a document, itself included; not deeper than a message is."""
    found, waiting = [], [(document, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict | list):
            found.append(value)
            if depth < 8:
                waiting += [(inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value)]
    return found
