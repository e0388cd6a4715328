"""A schema to ask for, as each way writes it down, and a short way to ask."""

from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field

from llm_foundation import llm


class Parcel(BaseModel):
    """A parcel on its way."""

    number: str
    weight: Decimal = Field(gt=0)


class Node(BaseModel):
    name: str
    children: list["Node"] = []


SHAPE = {
    "description": "A parcel on its way.",
    "properties": {
        "number": {"type": "string"},
        "weight": {"anyOf": [{"exclusiveMinimum": 0, "type": "number"}, {"type": "string"}]},
    },
    "required": ["number", "weight"],
    "type": "object",
}
STRICT = {
    "description": "A parcel on its way.",
    "type": "object",
    "properties": {
        "number": {"type": "string"},
        "weight": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]},
    },
    "required": ["number", "weight"],
    "additionalProperties": False,
}
GOOD = '{"number": "7", "weight": 1.50}'
PARCEL = Parcel(number="7", weight=Decimal("1.50"))
ASKED = {"role": "user", "content": "Which parcel?"}
INSTRUCTION = (
    "Answer with one JSON object that follows the JSON Schema below, and with nothing else: no words around it, no code"
    ' fence.\n\n{"description":"A parcel on its way.","properties":{"number":{"type":"string"},"weight":{"anyOf":['
    '{"exclusiveMinimum":0.0,"type":"number"},{"type":"string"}]}},"required":["number","weight"],"type":"object"}'
)
TOOL = {
    "type": "function",
    "function": {
        "name": "give_answer",
        "description": "Give the answer. Call this once; its arguments are the whole answer.",
        "parameters": SHAPE,
    },
}


def ask(schema: type[BaseModel] = Parcel, messages: Any = "Which parcel?", **more: Any) -> Any:
    return llm.structured("support", messages, schema=schema, **more)
