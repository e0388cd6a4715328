"""Records with everything that a test does not care about filled in."""

from llm_foundation.models import Configuration, ConfigurationFallback, LanguageModel, Provider


def make_provider(name="openai-prod", *, secret="", **fields):
    given = {"adapter": "openai", "base_url": "https://api.openai.com/v1", **fields}
    provider = Provider(name=name, **given)
    if secret:
        provider.set_secret(secret)
    provider.save()
    return provider


def make_language_model(provider=None, *, model_id="practice", **fields):
    return LanguageModel.objects.create(provider=provider or make_provider(), model_id=model_id, **fields)


def make_configuration(slug="support", *, provider=None, fallbacks=(), **fields):
    if "language_model" not in fields:
        fields["language_model"] = make_language_model(provider or make_provider(name=f"{slug}-provider"))
    configuration = Configuration.objects.create(slug=slug, **{"name": slug.capitalize(), **fields})
    for position, fallback in enumerate(fallbacks):
        ConfigurationFallback.objects.create(configuration=configuration, fallback=fallback, position=position)
    return configuration
