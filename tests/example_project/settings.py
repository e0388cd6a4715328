"""The example's own settings, on the database of this test run, with keys that nobody keeps."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

PLACE = tempfile.mkdtemp(prefix="example-project-tests-")
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)
for name in [name for name in os.environ if name.startswith("EXAMPLE_")]:
    del os.environ[name]  # somebody may have a demo running in this very shell
os.environ["EXAMPLE_DATABASE"] = str(Path(PLACE) / "db.sqlite3")

from example_project.settings import *  # noqa: E402, F403
from tests.databases import database  # noqa: E402

DATABASES = {"default": database(os.environ.get("LLM_TEST_DATABASE_URL", ""))}
# Another name than that of the tests that started this one: both may be at work at once.
DATABASES["default"].setdefault("TEST", {}).setdefault("NAME", f"test_example_project_{os.getpid()}")

LLM_FOUNDATION = {**LLM_FOUNDATION, "RETRY_DELAY": 0.01}  # noqa: F405  # the practice model fails as often as it is asked
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast; four users are made again and again
