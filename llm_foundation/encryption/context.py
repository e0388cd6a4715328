"""Where a value belongs. Its key is derived from that, so that a token moved elsewhere does not open."""


def place(*, table: str, column: str, row: object | tuple[object, ...]) -> str:
    """Name one value's place, for example ``llm_foundation_runmessage|payload|2f0c…|7``.

    ``row`` is what identifies the row for good, known before it is inserted: a uuid, or a tuple of several parts.
    Different places never get the same name. Raises ``ValueError`` where a part is missing.
    """
    parts = table, column, *(row if isinstance(row, tuple) else (row,))
    names = ["" if part is None else str(part) for part in parts]
    if len(names) < 3 or "" in names:
        raise ValueError(f"The row of {table}.{column} has no identity yet; set it before the value.")
    return "|".join([name.replace("%", "%25").replace("|", "%7C") for name in names])
