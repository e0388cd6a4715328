"""The parts of a message that is more than text."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from llm_foundation.chat.frozen import Text, Value
from llm_foundation.chat.reading import build, read_inside, refuse_unknown_keys, require_object, require_text, shown
from llm_foundation.exceptions import InvalidMessage

_BASE64: Final = r"[A-Za-z0-9+/]+={0,2}"


class TextPart(Value):
    type: Literal["text"] = "text"
    text: Text

    def to_wire(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


class ImagePart(Value):
    """An image: ``url`` is a web address, or a ``data:`` URL with a media type and base64."""

    type: Literal["image"] = "image"
    url: Annotated[Text, Field(pattern=rf"^(https?://\S+|data:image/[\w.+-]+;base64,{_BASE64})$")]
    detail: Literal["auto", "low", "high"] | None = None

    @classmethod
    def from_bytes(cls, data: bytes, *, media_type: str) -> Self:
        return cls(url=data_url(data, media_type=media_type))

    def to_wire(self) -> dict[str, Any]:
        image = {"url": self.url} | ({"detail": self.detail} if self.detail else {})
        return {"type": "image_url", "image_url": image}


class FilePart(Value):
    """A file: either ``data`` (a ``data:`` URL), with a name where the provider wants one, or a ``file_id`` that the
    provider gave to a file it holds.
    """

    type: Literal["file"] = "file"
    data: Annotated[Text, Field(pattern=rf"^data:[\w.+-]+/[\w.+-]+;base64,{_BASE64}$")] | None = None
    file_id: Annotated[Text, Field(min_length=1)] | None = None
    filename: Annotated[Text, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.data is None) == (self.file_id is None):
            raise ValueError("a file has either data or an id")
        return self

    @classmethod
    def from_bytes(cls, data: bytes, *, media_type: str, filename: str) -> Self:
        return cls(data=data_url(data, media_type=media_type), filename=filename)

    def to_wire(self) -> dict[str, Any]:
        named = {"file_data": self.data, "file_id": self.file_id, "filename": self.filename}
        return {"type": "file", "file": {key: value for key, value in named.items() if value is not None}}


Part = TextPart | ImagePart | FilePart
PARTS: Final = (TextPart, ImagePart, FilePart)


def data_url(data: bytes, *, media_type: str) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def read_part(data: Any) -> Part:
    """Read one part of the OpenAI form. Raises ``InvalidMessage`` with the path inside the part."""
    if isinstance(data, PARTS):
        return data
    entry = require_object(data, field="part")
    kind = require_text(entry.get("type"), field="type")
    reader = _READERS.get(kind)
    if reader is None:
        raise InvalidMessage(f"is {shown(kind)}; known parts are {', '.join(_READERS)}", field="type")
    refuse_unknown_keys(entry, _HINTS | {kind})
    return reader(entry)


_HINTS: Final = frozenset({"type", "cache_control", "prompt_cache_breakpoint"})
"""What a part may carry beside its content: hints for a cache say nothing to the model."""


def _read_text(entry: Mapping[str, Any]) -> TextPart:
    return build(TextPart, field="text", text=entry.get("text"))


def _read_image(entry: Mapping[str, Any]) -> ImagePart:
    image = entry.get("image_url")
    if isinstance(image, str):
        image = {"url": image}
    return read_inside(image, _image, field="image_url")


def _image(image: Mapping[str, Any]) -> ImagePart:
    refuse_unknown_keys(image, frozenset({"url", "detail"}))
    return build(ImagePart, field="url", url=image.get("url"), detail=image.get("detail"))


def _read_file(entry: Mapping[str, Any]) -> FilePart:
    return read_inside(entry.get("file"), _file, field="file")


def _file(file: Mapping[str, Any]) -> FilePart:
    refuse_unknown_keys(file, frozenset({"file_data", "file_id", "filename"}))
    data, file_id, filename = (file.get(key) for key in ("file_data", "file_id", "filename"))
    try:
        return build(FilePart, field="", data=data, file_id=file_id, filename=filename)
    except InvalidMessage as error:
        # Our field is named for what it holds; the error speaks of the key that was written.
        raise InvalidMessage(error.problem, field="file_data" if error.field == "data" else error.field) from None


_READERS: Final[dict[str, Callable[[Mapping[str, Any]], Part]]] = {
    "text": _read_text,
    "image_url": _read_image,
    "file": _read_file,
}
