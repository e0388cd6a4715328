"""The example's secrets: made once on this machine, kept in a file beside the database, never in the repository."""

import base64
import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Keys:
    """Django's own key, and the ring that the package encrypts with (the newest first)."""

    secret_key: str
    ring: list[str]

    @classmethod
    def made(cls) -> Self:
        return cls(
            secret_key=secrets.token_urlsafe(48),
            ring=[base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()],
        )


def kept_in(path: Path) -> Keys:
    """Read the keys, or make them first; only the owner of the file may read it."""
    if not path.exists():
        write_once(path, json.dumps(asdict(Keys.made()), indent=2))
    return Keys(**json.loads(path.read_text()))


def write_once(path: Path, text: str) -> None:
    """Write the whole file or nothing. Of two processes that start at once, the second takes the first one's keys."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # made with mode 0600
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
