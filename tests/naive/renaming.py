"""Names in texts, replaced character by character."""

from collections.abc import Collection


def outside(text: str, names: Collection[str], becomes: str, others: Collection[str]) -> str:
    """The text with another name where one of ``names`` stands as a word, and not in ``others``.

    A word ends where neither a letter nor a digit follows; the longest name of others is tried
    first.
    """
    known = [*sorted(others, key=len, reverse=True), *sorted(names)]
    out, at = "", 0
    while at < len(text):
        found = ""
        if at == 0 or not text[at - 1].isalnum():
            for name in known:
                end = at + len(name)
                if text.startswith(name, at) and not text[end : end + 1].isalnum():
                    found = name
                    break
        if found:
            out += becomes if found in names else found
            at += len(found)
        else:
            out += text[at]
            at += 1
    return out
