"""Which model serves the support desk. An operator does this in the admin; the example does it in code."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from django.conf import settings
from django.db import transaction

from example_project.local_model import serve as local_model
from example_project.practice_model.scene import MODEL_ID as PRACTICE_MODEL_ID
from llm_foundation.models import Configuration, LanguageModel, Provider, ToolRecord
from llm_foundation.vocabulary import TrustZone

SLUG: Final = "support"
PROMPT: Final = (
    "You work at the support desk of a small shop. Use the tools; do not guess what an order holds."
    " Answer in one or two short sentences."
)
ALL_TOOLS: Final = (
    "find_order",
    "find_tickets",
    "refund_order",
    "send_message",
    "make_return_label",
    "close_ticket",
)


@dataclass(frozen=True)
class Backend:
    """A model, and where it is."""

    name: str
    base_url: str
    model_id: str
    profile: str
    trust_zone: TrustZone = TrustZone.LOCAL
    secret_reference: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = ALL_TOOLS
    takes_parallel_calls: bool = True

    @property
    def is_free(self) -> bool:
        return self.trust_zone is TrustZone.LOCAL


def on_this_machine() -> str:
    """Where the practice model and the small local one listen: an origin that the settings allow."""
    return f"http://127.0.0.1:{cast(Any, settings).SHOP_MODEL_PORT}/v1"


def practice() -> Backend:
    return Backend("practice", on_this_machine(), PRACTICE_MODEL_ID, "custom")


def local() -> Backend:
    """A model so small that it is sure of one tool only."""
    return Backend(
        "local",
        on_this_machine(),
        local_model.MODEL_ID,
        "llama_cpp",
        options={"temperature": 0, "max_tokens": 160},
        tools=("close_ticket",),
        takes_parallel_calls=False,
    )


def ollama(model_id: str) -> Backend:
    return Backend("ollama", "http://localhost:11434/v1", model_id, "ollama", options={"temperature": 0})


def openai(model_id: str = "") -> Backend:
    """The shop's customers are made up, so their data may go there. For real ones that is the operator's decision."""
    return Backend(
        "openai",
        "https://api.openai.com/v1",
        model_id or os.environ.get("OPENAI_MODEL") or "gpt-6-luna",
        "openai",
        trust_zone=TrustZone.REGIONAL,
        secret_reference="env:OPENAI_API_KEY",
    )


def connect(backend: Backend) -> Configuration:
    """Let this model serve the configuration "support", with the tools that it can handle."""
    with transaction.atomic():
        model = language_model(backend)
        configuration, _ = Configuration.objects.update_or_create(
            slug=SLUG,
            defaults={
                "name": "Support desk",
                "language_model": model,
                "system_prompt": PROMPT,
                "options": dict(backend.options),
                "enabled": True,
            },
        )
        configuration.tools.set(ToolRecord.objects.filter(name__in=backend.tools))
    return configuration


def language_model(backend: Backend) -> LanguageModel:
    # Each name has one kind of place. Written at once, since a new address alone would take the trust away.
    place = {"base_url": backend.base_url, "trust_zone": backend.trust_zone.value}
    provider, is_new = Provider.objects.get_or_create(
        name=backend.name,
        defaults={
            **place,
            "adapter": "openai",
            "profile": backend.profile,
            "secret_reference": backend.secret_reference,
        },
    )
    if not is_new:
        Provider.objects.filter(pk=provider.pk).update(**place, secret_reference=backend.secret_reference, enabled=True)
    price = {"input_price": 0, "output_price": 0} if backend.is_free else {}
    model, _ = LanguageModel.objects.update_or_create(
        provider=provider,
        model_id=backend.model_id,
        defaults={"supports_parallel_tool_calls": backend.takes_parallel_calls, **price},
    )
    return model
