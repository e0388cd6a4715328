"""Why an answer that should have followed a schema is no instance of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from llm_foundation.exceptions.root import LLMFoundationError, one_line

if TYPE_CHECKING:
    from llm_foundation.chat.completions import CompletionResponse


class StructuredOutputError(LLMFoundationError):
    """The model answered, was shown what is wrong, and answered wrongly again; or it gave no whole answer at all.

    ``text`` is what stood for the last answer: the model's words, or the arguments of the call that it was made to
    make. ``problems`` holds (field path, why) pairs, ``response`` that answer with all that came with it.
    """

    what: ClassVar[str] = "Model {model!r} was told what is wrong, and its answer still does not fit {schema}"
    remedy: ClassVar[str] = "Make the schema simpler, describe its fields, or choose a model that keeps to a schema."

    def __init__(
        self,
        *,
        configuration: str,
        model: str,
        schema: str,
        response: "CompletionResponse",
        text: str,
        problems: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.configuration = configuration
        self.model = model
        self.schema = schema
        self.response = response
        self.text = text
        self.problems = tuple(problems)
        happened = self.what.format(model=model, schema=schema)
        listed = "; ".join(f"{field}: {why}" for field, why in self.problems) or one_line(response.refusal or "")
        because = f": {listed.rstrip('.')}" if listed else ""
        super().__init__(f"Configuration {configuration!r}: {happened}{because}. {self.remedy}")


class AnswerTruncated(StructuredOutputError):
    """The answer was cut off. It is not repaired: a second one would be cut off at the same place."""

    what = "Model {model!r} reached its token limit before {schema} was complete"
    remedy = "Raise max_tokens, in the options or in the configuration, or ask for less at once."


class AnswerRefused(StructuredOutputError):
    """The model does not want to answer; its own words are ``response.refusal``, where it gave any."""

    what = "Model {model!r} refused to give {schema}"
    remedy = "Change what is asked, or choose another model."


class AnswerFiltered(StructuredOutputError):
    """The provider's content filter stopped the answer."""

    what = "The provider's content filter stopped model {model!r} before it gave {schema}"
    remedy = "Change what is asked, or choose another provider."
