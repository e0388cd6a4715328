"""Django's settings for the example, on a developer's own machine. Where the environment says nothing:

=========================  ========================================================================
EXAMPLE_DATABASE           ``db.sqlite3`` beside ``manage.py``
EXAMPLE_SECRET_KEY         made once, with the key ring, in ``<database>.keys``
EXAMPLE_ENCRYPTION_KEYS    the same; url-safe base64 of 32 bytes each, the newest first, with commas
EXAMPLE_MODEL_PORT         8765: where the practice model, or the small local one, listens
OPENAI_API_KEY             not needed; ``bin/demo --model openai`` refers to it
=========================  ========================================================================
"""

import os
from pathlib import Path

from example_project.keys import kept_in

BASE_DIR = Path(__file__).resolve().parent.parent
DATABASE = Path(os.environ.get("EXAMPLE_DATABASE") or BASE_DIR / "db.sqlite3")

KEYS = kept_in(DATABASE.with_name(f"{DATABASE.name}.keys"))
SECRET_KEY = os.environ.get("EXAMPLE_SECRET_KEY") or KEYS.secret_key

DEBUG = True  # serves the admin's style sheets; the site is for this machine only
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "llm_foundation",
    "example_project.shop",
]
MIDDLEWARE = [
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
ROOT_URLCONF = "example_project.urls"
WSGI_APPLICATION = "example_project.wsgi.application"
ASGI_APPLICATION = "example_project.asgi.application"
STATIC_URL = "static/"

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATABASE,
        "OPTIONS": {
            # A transaction that reads before it writes fails at once under contention, whatever the timeout.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    },
}

SHOP_OUTBOX = DATABASE.with_name("outbox.mbox")  # where letters to customers go in place of the post
SHOP_MODEL_PORT = int(os.environ.get("EXAMPLE_MODEL_PORT") or 8765)

LLM_FOUNDATION = {
    "ENCRYPTION_KEYS": [key for key in os.environ.get("EXAMPLE_ENCRYPTION_KEYS", "").split(",") if key] or KEYS.ring,
    "SECRET_ENV_NAMES": ["OPENAI_API_KEY"],
    "PRIVATE_ORIGINS": [f"http://127.0.0.1:{SHOP_MODEL_PORT}", "http://localhost:11434"],
}
