from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from example_project.shop.assistant import SLUG, connect, practice
from example_project.shop.people import PASSWORD, PEOPLE
from example_project.shop.seed import seed
from llm_foundation.models import Configuration


class Command(BaseCommand):
    help = "Fill the example's shop: people, orders, tickets, and an assistant. Running it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--fresh", action="store_true", help="Throw the shop's orders and tickets away first.")

    def handle(self, *args: Any, fresh: bool, **options: Any) -> None:
        seed(fresh=fresh)
        if not Configuration.objects.filter(slug=SLUG).exists():
            connect(practice())
        names = ", ".join(person.username for person in PEOPLE)
        self.stdout.write(f"The shop is ready. Users: {names}; the password of each is “{PASSWORD}”.")
