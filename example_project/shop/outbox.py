"""Letters to customers. The example has no post office: a letter goes into the mailbox file ``SHOP_OUTBOX``.

As with real post, it has gone out once it is there: no transaction takes it back, and nobody sees that it
is the same letter when it is sent again.
"""

import mailbox
from email.message import EmailMessage
from typing import Any, cast

from django.conf import settings

SENDER = "Support <support@shop.example>"


def send(*, to: str, subject: str, text: str) -> None:
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = SENDER, to, subject
    letter.set_content(text)
    box = mailbox.mbox(cast(Any, settings).SHOP_OUTBOX)
    box.lock()
    try:
        box.add(letter)
    finally:
        box.close()  # writes, and gives the lock back
