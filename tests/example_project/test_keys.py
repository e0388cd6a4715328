import stat
import threading

from example_project.keys import kept_in


def test_keys_are_made_once_and_then_stay(tmp_path):
    first = kept_in(tmp_path / "shop" / "db.sqlite3.keys")
    assert kept_in(tmp_path / "shop" / "db.sqlite3.keys") == first
    assert kept_in(tmp_path / "other.keys") != first


def test_only_the_owner_may_read_the_keys(tmp_path):
    kept_in(tmp_path / "keys")
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o600


def test_processes_that_start_at_once_agree_on_the_keys(tmp_path):
    start = threading.Barrier(8)
    seen = []

    def read() -> None:
        start.wait()
        seen.append(kept_in(tmp_path / "keys").secret_key)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]
