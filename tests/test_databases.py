import pytest

from tests.databases import database


def test_url_names_host_user_password_and_database():
    settings = database("postgres://alice:p%40ss@127.0.0.1:5433/shop")
    assert settings["ENGINE"] == "django.db.backends.postgresql"
    assert settings["NAME"] == "shop"
    assert settings["USER"] == "alice"
    assert settings["PASSWORD"] == "p@ss"
    assert (settings["HOST"], settings["PORT"]) == ("127.0.0.1", "5433")


def test_postgresql_does_not_wait_for_the_disk():
    assert database("postgres://alice@127.0.0.1/shop")["OPTIONS"] == {"options": "-c synchronous_commit=off"}


def test_mariadb_takes_all_of_unicode():
    settings = database("mysql://root@127.0.0.1:3306/shop")
    assert settings["ENGINE"] == "django.db.backends.mysql"
    assert settings["TEST"] == {"CHARSET": "utf8mb4"}


def test_no_url_means_sqlite():
    assert database("")["ENGINE"] == "django.db.backends.sqlite3"


def test_other_schemes_are_refused_with_the_ones_that_work():
    with pytest.raises(ValueError, match="'oracle'; use postgres:// or mysql://"):
        database("oracle://db/shop")
