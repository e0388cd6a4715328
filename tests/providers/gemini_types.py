"""Whether a body is one that the official ``google-genai`` package would send, by its own types."""

import json
from typing import Any

from google.genai import types
from pydantic import BaseModel, ConfigDict, ValidationError


class GenerateContentBody(BaseModel):
    """The package has types for the parts of a body only; they refuse keys that they do not know."""

    model_config = ConfigDict(extra="forbid")

    contents: list[types.Content]
    systemInstruction: types.Content | None = None  # noqa: N815
    tools: list[types.Tool] | None = None
    toolConfig: types.ToolConfig | None = None  # noqa: N815
    generationConfig: types.GenerationConfig | None = None  # noqa: N815
    safetySettings: list[types.SafetySetting] | None = None  # noqa: N815
    modelArmorConfig: types.ModelArmorConfig | None = None  # noqa: N815
    cachedContent: str | None = None  # noqa: N815


def objections(body: dict[str, Any]) -> list[str]:
    """What the types have against a body. Empty for a good one."""
    try:
        GenerateContentBody.model_validate_json(json.dumps(body))
    except ValidationError as error:
        return [f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors()]
    return []
