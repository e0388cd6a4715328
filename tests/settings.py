"""A small Django project for the tests. LLM_TEST_DATABASE_URL chooses the database; unset means SQLite."""

import os

from tests.databases import database

SECRET_KEY = "only for tests"
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
USE_TZ = True

# DEFAULT_AUTO_FIELD stays unset: the package's migrations may not depend on a project's choice.
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "llm_foundation",
]
MIDDLEWARE = [
    "tests.content_policy.strict",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
ROOT_URLCONF = "tests.urls"
MAILERS = {"default": {}}  # from Django 6.1 on; the test environment keeps all letters
STATIC_URL = "static/"

DATABASES = {"default": database(os.environ.get("LLM_TEST_DATABASE_URL", ""))}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast; the tests check no passwords

LLM_FOUNDATION = {
    "ENCRYPTION_KEYS": ["pwSwJO78ePkepyrS5auPkIbHFRrNxqdKXBIv7hf8nSU="],
    "SECRET_ENV_NAMES": ["LLM_TEST_*"],
    "RETRY_DELAY": 0.01,  # seconds: a provider that failed recovers quickly here
}
