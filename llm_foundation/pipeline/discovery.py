"""Which models a provider has: the steps that ``llm.available_models`` takes."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Final

from llm_foundation.exceptions import ConfigurationError, InvalidResponse, ProviderError, UnusableConfiguration
from llm_foundation.models import Provider
from llm_foundation.models.catalogue import CatalogueEntry, look_up
from llm_foundation.pipeline.available_models import AvailableModel, described
from llm_foundation.pipeline.contact import Contact
from llm_foundation.providers import registry
from llm_foundation.providers.base import Adapter, HTTPRequest, ModelSpec
from llm_foundation.providers.discovery import FoundModel
from llm_foundation.transport.answers import HTTPAnswer
from llm_foundation.transport.deadlines import Deadlines

MOST_PAGES: Final = 100

Making = Callable[[HTTPRequest], Contact]


def discovery_steps(provider: Provider | str) -> Generator[Contact, HTTPAnswer, tuple[AvailableModel, ...]]:
    """Yields the contacts that it takes to learn the whole list. Each model stands in it once, by its id."""
    record = _record(provider)
    adapter = registry.build(record.spec(), ModelSpec(model_id=""), record.secret())
    contact = partial(Contact, deadlines=Deadlines(**record.timeouts()._asdict()), provider=record.name)
    found = {model.model_id: model for model in (yield from _listed(adapter, contact))}
    for model in found.values():
        found[model.model_id] = yield from _detailed(model, adapter, contact)
    stored = {model.model_id: model for model in record.language_models.all()} if record.pk else {}
    return tuple(described(found[name], _entry(record, name), stored.get(name)) for name in sorted(found))


def _record(provider: Provider | str) -> Provider:
    if isinstance(provider, Provider):
        record: Provider | None = provider
    else:
        # MariaDB finds “OpenAI” for “openai” as well; the same name should do on every database.
        record = next((one for one in Provider.objects.filter(name=provider) if one.name == provider), None)
    if record is None:
        known = ", ".join(Provider.objects.order_by("name").values_list("name", flat=True))
        hint = f"Known: {known}." if known else "Create it in the admin, under “Providers”."
        raise ConfigurationError(f"There is no provider {provider!r}. {hint}")
    if not record.enabled:
        raise UnusableConfiguration(f"Provider {record.name!r} is switched off. Enable it in the admin.")
    return record


def _listed(adapter: Adapter, contact: Making) -> Generator[Contact, HTTPAnswer, list[FoundModel]]:
    """All pages. One that came before ends the list: some gateways give the first one whatever they are asked."""
    found: list[FoundModel] = []
    page, seen = "", set[str]()
    while len(seen) < MOST_PAGES:
        seen.add(page)
        answer = yield contact(adapter.models_request(page))
        listed = adapter.models(answer.status, answer.headers, answer.body)
        found += listed.models
        page = listed.next_page
        if not page or page in seen:
            return found
    raise InvalidResponse(f"its list of models has more than {MOST_PAGES} pages", provider=adapter.provider.name)


def _detailed(found: FoundModel, adapter: Adapter, contact: Making) -> Generator[Contact, HTTPAnswer, FoundModel]:
    """A model about which no more can be learnt is still on the list."""
    request = adapter.details_request(found)
    if request is None:
        return found
    try:
        answer = yield contact(request)
        return adapter.details(found, answer.status, answer.headers, answer.body)
    except ProviderError:
        return found


def _entry(provider: Provider, model_id: str) -> CatalogueEntry | None:
    return look_up(model_id, base_url=provider.base_url, vendor=provider.profile or provider.adapter)
