"""Lists with commas whose entries have brackets: schedules as isl text, parameters in C."""


def split_at_commas(text: str) -> list[str]:
    """Split at the commas that stand outside brackets.

    >>> split_at_commas("isl, { S[i,j] -> [j,i] },x.json")
    ['isl', ' { S[i,j] -> [j,i] }', 'x.json']
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
