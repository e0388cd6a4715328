"""One exchange with a provider that is no completion: embeddings, the list of models."""

from dataclasses import dataclass

from llm_foundation.pipeline.target import named_in_errors
from llm_foundation.providers.base import HTTPRequest
from llm_foundation.transport import client
from llm_foundation.transport.answers import HTTPAnswer
from llm_foundation.transport.deadlines import Deadlines


@dataclass(frozen=True, slots=True)
class Contact:
    """What steps yield to have it sent. The answer is not judged here, whatever its status."""

    request: HTTPRequest
    deadlines: Deadlines
    provider: str
    model: str = ""

    def perform(self) -> HTTPAnswer:
        with named_in_errors(self.provider, self.model):
            return client.send(self.request, limits=self.deadlines)

    async def aperform(self) -> HTTPAnswer:
        with named_in_errors(self.provider, self.model):
            return await client.asend(self.request, limits=self.deadlines)
