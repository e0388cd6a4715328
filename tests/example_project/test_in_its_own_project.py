"""On SQLite only, as the example itself: what it is made of is tested on every database by the package's own tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_tests_of_the_shop_pass_with_the_settings_of_the_example():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/example_project"]
    settings = ["--ds", "tests.example_project.settings"]
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run([*command, *settings], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
