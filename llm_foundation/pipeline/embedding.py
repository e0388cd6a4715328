"""Embeddings: the steps that ``llm.embed`` takes. No fallback: another model's vectors mean something else."""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from llm_foundation.chat.completions import Usage
from llm_foundation.chat.embeddings import Embeddings, read_texts
from llm_foundation.chat.frozen import freeze_object
from llm_foundation.chat.options import ChatOptions
from llm_foundation.exceptions import InvalidResponse, UnusableConfiguration
from llm_foundation.models import Configuration
from llm_foundation.pipeline.contact import Contact
from llm_foundation.pipeline.target import Target, target_of
from llm_foundation.transport.answers import HTTPAnswer
from llm_foundation.vocabulary import DataClass

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User


def embedding_steps(slug: str, texts: Any, *, user: "User | None" = None) -> Generator[Contact, HTTPAnswer, Embeddings]:
    """Yields one contact for each batch. Everything is checked before the first; without texts there is none."""
    checked = read_texts(texts)
    configuration = Configuration.objects.by_slug(slug, user=user)
    target, options = target_of(configuration), configuration.chat_options()
    if not target.adapter.capabilities.embeddings:
        raise UnusableConfiguration(
            f"Configuration {slug!r} makes no embeddings: the adapter of its provider {target.provider!r} has none."
            " Choose an embedding model of another provider."
        )
    batches = []
    for batch in target.adapter.embedding_limits.batches(checked):
        target.require_ceiling(DataClass.PUBLIC)
        request = target.adapter.embedding_request(batch, extra=options.extra)
        answer = yield Contact(request, target.deadlines, target.provider, target.model)
        batches.append(_read(answer, target, expected=len(batch)))
    return _joined(batches, target, options)


def _read(answer: HTTPAnswer, target: Target, *, expected: int) -> Embeddings:
    batch = target.adapter.embeddings(answer.status, answer.headers, answer.body)
    if len(batch.vectors) != expected:
        raise _unreadable(f"{len(batch.vectors)} vectors for {expected} texts", target)
    return batch


def _joined(batches: Sequence[Embeddings], target: Target, options: ChatOptions) -> Embeddings:
    """All batches as one: vectors in the order of the texts, usage summed."""
    if len({batch.dimensions for batch in batches}) > 1:
        raise _unreadable("vectors of different lengths", target)
    metadata: dict[str, Any] = {"configuration": target.configuration, "provider": target.provider}
    if dropped := [name for name in ChatOptions.model_fields if name in options.model_fields_set - {"extra"}]:
        metadata["dropped_options"] = dropped
    if cut := _truncated(batches):
        metadata["truncated_texts"] = cut
    # The sum of no calls is known: it is zero.
    usage = sum((batch.usage for batch in batches), Usage() if batches else Usage(input_tokens=0, output_tokens=0))
    return Embeddings(
        vectors=tuple(vector for batch in batches for vector in batch.vectors),
        usage=usage,
        model=next((batch.model for batch in batches if batch.model), target.model),
        metadata=freeze_object(metadata),
    )


def _truncated(batches: Sequence[Embeddings]) -> list[int]:
    """The places of the texts that a provider cut, counted over all batches."""
    cut, before = list[int](), 0
    for batch in batches:
        cut += [before + index for index in batch.metadata.get("truncated_texts", ())]
        before += len(batch.vectors)
    return cut


def _unreadable(problem: str, target: Target) -> InvalidResponse:
    return InvalidResponse(problem, provider=target.provider, model=target.model)
