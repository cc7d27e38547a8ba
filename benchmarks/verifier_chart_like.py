"""Generated rows like those of chart and document questions: readings, counts, options, names, dates, amounts."""

from __future__ import annotations

import random

from benchmarks.verifier_cases import Drawn, Family
from benchmarks.verifier_math_like import decimal

_COUNTRIES = ("France", "Brazil", "Kenya", "Japan", "Norway", "Chile", "Canada", "Vietnam", "Poland", "Morocco")
_STREETS = ("Harbour Road", "Mill Lane", "Station Street", "Oak Avenue", "Castle Hill", "Garden Walk")
_FIRMS = ("Acme Corp", "Northwind Traders", "Blue River Ltd", "Harlow & Sons", "Delta Freight", "Orion Foods")
_PEOPLE = ("Maria Lopez", "Jonas Weber", "Aiko Tanaka", "Peter Olsen", "Grace Mensah", "Ivan Petrov")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")


def chart_numeric(rng: random.Random) -> Drawn:
    """Readings within 4.5 % are right, beyond 6 % wrong: the limit itself is 5 % of the reference (rule 11)."""
    places = rng.choice([0, 0, 1, 1, 2])
    units = rng.randint(60, 99999)
    near = units + rng.choice([-1, 1]) * (units * rng.randint(1, 45) // 1000)
    far = units + rng.choice([-1, 1]) * max(8, units * rng.randint(60, 900) // 1000)
    text = decimal(units, places)
    right = [
        text,
        text,
        text,
        decimal(near, places),
        decimal(near, places),
        rf"\text{{{text}}}",
        f"{text}.",
        f"${text}$",
    ]
    if places == 0 and units > 999:
        right += [f"{units:,}", f"{near:,}"]
    wrong = (decimal(far, places), decimal(far, places), decimal(units * 10, places), f"-{text}")
    return Drawn("chart_numeric", text, tuple(right), wrong)


def chart_percent(rng: random.Random) -> Drawn:
    n = rng.randint(20, 99)
    right = (rf"{n}\%", f"{n}%", str(n), rf"{n} \%", f"{n} percent", f"0.{n:02d}")
    return Drawn("chart_numeric", f"{n}%", right, (rf"{n + 12}\%", str(n - 12), f"{n * 3}%"))


def year(rng: random.Random) -> Drawn:
    y = rng.randint(1950, 2029)
    wrong = (str(y + 1), str(y - 1), str(y + 10), f"{y} or {y + 1}")
    return Drawn("year", str(y), (str(y), str(y), rf"\text{{{y}}}", f"{y}."), wrong)


def count(rng: random.Random) -> Drawn:
    n = rng.randint(2, 60)
    thing = rng.choice(["students", "people", "points", "items", "days"])
    right = (str(n), str(n), rf"{n}\text{{ {thing}}}", f"{n} {thing}", f"{n}.", f"**{n}**", "".join(map(_wide, str(n))))
    wrong = (str(n + 1), f"{n - 1} {thing}", str(n * 2), f"{n} or {n + 1}", rf"{n + 2}\text{{ {thing}}}")
    return Drawn("integer", str(n), right, wrong)


def _wide(digit: str) -> str:
    return chr(ord("０") + int(digit))


def percent(rng: random.Random) -> Drawn:
    units = rng.randint(11, 999)
    text = decimal(units, 1)
    right = (rf"{text}\%", f"{text}%", text, f"{text} percent", decimal(units, 3))
    return Drawn("percent", f"{text}%", right, (rf"{decimal(units + 13, 1)}\%", decimal(units + 20, 1)))


def choice(rng: random.Random) -> Drawn:
    options = tuple(rng.sample(_COUNTRIES, 4))
    index = rng.randrange(4)
    letter, other = "ABCD"[index], "ABCD"[(index + rng.randint(1, 3)) % 4]
    right = (
        *(letter, letter, f"({letter})", rf"\text{{{letter}}}", rf"\text{{({letter})}}", f"{letter}.", letter.lower()),
        *(f"{letter}. {options[index]}", f"({letter}) {options[index]}", options[index], f"Option {letter}"),
    )
    wrong = (
        *(other, f"({other})", rf"\text{{{other}}}", f"{letter} or {other}", options["ABCD".index(other)]),
        f"{other}. {options['ABCD'.index(other)]}",
    )
    return Drawn("choice", letter, right, wrong, options=options)


def multi_choice(rng: random.Random) -> Drawn:
    letters = sorted(rng.sample("ABCDE", rng.randint(2, 3)))
    extra = next(letter for letter in "ABCDE" if letter not in letters)
    right = ("".join(letters), ", ".join(letters), ",".join(letters[::-1]), " and ".join(letters[:2] + letters[2:]))
    return Drawn("multi_choice", "".join(letters), right, ("".join(letters[:-1]), "".join(sorted([*letters, extra]))))


def name(rng: random.Random) -> Drawn:
    reference, other = rng.sample(_COUNTRIES, 2)
    right = (reference, reference, rf"\text{{{reference}}}", reference.lower(), reference.upper(), f"{reference}.")
    return Drawn("text", reference, right, (), open_wrong=(other, rf"\text{{{other}}}", f"{reference} and {other}"))


def document_name(rng: random.Random) -> Drawn:
    names = _FIRMS if rng.random() < 0.5 else _PEOPLE
    reference, other = rng.sample(names, 2)
    right = (
        reference,
        reference,
        reference.upper(),
        rf"\text{{{reference}}}",
        f"{reference}.",
        reference.replace(" ", "  "),
    )
    near = reference[:-1] + chr(ord(reference[-1]) ^ 1)
    return Drawn("doc_text", reference, right, (), open_wrong=(other, near))


def document_address(rng: random.Random) -> Drawn:
    number, street = rng.randint(2, 400), rng.choice(_STREETS)
    reference = f"{number} {street}"
    right = (reference, reference.upper(), rf"\text{{{reference}}}", f"{reference}.")
    return Drawn("doc_text", reference, right, (f"{number + 1} {street}", f"{number}0 {street}"))


def document_code(rng: random.Random) -> Drawn:
    a, b = rng.randint(100, 998), rng.randint(1000, 9998)
    reference = rng.choice([f"INV-{a}-{b}", f"{a}-{b}", f"Invoice {a}{b}", f"PO {b}/{a}"])
    other = reference.replace(str(b), str(b + 1))
    return Drawn("doc_text", reference, (reference, rf"\text{{{reference}}}", reference.lower()), (other,))


def document_amount(rng: random.Random) -> Drawn:
    cents = rng.randint(100_000, 9_999_999)
    text = f"${cents // 100:,}.{cents % 100:02d}"
    other = f"${(cents + 100) // 100:,}.{cents % 100:02d}"
    return Drawn("doc_text", text, (text, "\\" + text, rf"\text{{\{text}}}"), (other, "\\" + other))


def document_date(rng: random.Random) -> Drawn:
    day, month, y = rng.randint(1, 27), rng.choice(_MONTHS), rng.randint(1990, 2029)
    reference = f"{month} {day}, {y}"
    right = (reference, rf"\text{{{reference}}}", reference.upper())
    return Drawn("doc_text", reference, right, (f"{month} {day + 1}, {y}", f"{month} {day}, {y + 1}"))


def currency(rng: random.Random) -> Drawn:
    units = rng.randint(100, 99999)
    text = decimal(units, 2)
    right = (
        rf"\${text}",
        rf"\${text}",
        text,
        rf"{text}\text{{ dollars}}",
        f"{text} USD",
        rf"\${units // 100:,}.{units % 100:02d}",
    )
    wrong = (rf"\${decimal(units + 100, 2)}", f"€{text}", decimal(units + 5, 2), rf"{text}\text{{ euros}}")
    return Drawn("currency", rf"\${text}", right, wrong)


def unit(rng: random.Random) -> Drawn:
    n = rng.randint(2, 500)
    short, long, other = rng.choice([("cm", "centimeters", "m"), ("kg", "kilograms", "g"), ("km", "kilometers", "m")])
    right = (rf"{n}\text{{ {short}}}", f"{n} {short}", f"{n}{short}", str(n), rf"{n} \text{{ {short}}}", f"{n} {long}")
    wrong = (rf"{n + 1}\text{{ {short}}}", f"{n} {other}", str(n + 3), rf"{n * 10}\text{{ {short}}}")
    return Drawn("unit", rf"{n}\text{{ {short}}}", right, wrong)


def clock(rng: random.Random) -> Drawn:
    hour, minute, half = rng.randint(1, 12), rng.randint(0, 58), rng.choice("AP")
    time = f"{hour}:{minute:02d}"
    right = (f"{time} {half}M", f"{time} {half.lower()}m", rf"\text{{{time} {half}M}}", f"{time} {half.lower()}.m.")
    wrong = (f"{hour}:{minute + 1:02d} {half}M", f"{time} {'A' if half == 'P' else 'P'}M")
    return Drawn("time", f"{time} {half}M", right, wrong, open_right=(time,))


def iso_date(rng: random.Random) -> Drawn:
    y, month, day = rng.randint(1990, 2029), rng.randint(1, 10), rng.randint(1, 27)
    reference = f"{y}-{month:02d}-{day:02d}"
    spoken = f"{_MONTHS[month - 1]} {day}, {y}"
    return Drawn(
        "date", reference, (reference, rf"\text{{{reference}}}"), (f"{y}-{month:02d}-{day + 1:02d}",), (spoken,)
    )


def ratio(rng: random.Random) -> Drawn:
    a, b = rng.randint(2, 20), rng.randint(21, 40)
    right = (f"{a}:{b}", f"{a} : {b}", rf"{a}\!:\!{b}", f"{a} to {b}")
    return Drawn("ratio", f"{a}:{b}", right, (f"{b}:{a}", f"{a + 1}:{b}"))


def yes_no(rng: random.Random) -> Drawn:
    yes, no = rng.choice([("Yes", "No"), ("No", "Yes")])
    right = (yes, yes, yes.lower(), rf"\text{{{yes}}}", f"{yes}.", f"{yes}, the second bar is higher", yes.upper())
    return Drawn("yesno", yes, right, (no, rf"\text{{{no}}}", f"{no.lower()}.", f"{yes} and {no.lower()}"))


def names(rng: random.Random) -> Drawn:
    drawn = rng.sample(_COUNTRIES, 4)
    reference, other = drawn[:3], drawn[3]
    moved = rng.sample(reference, 3)
    right = (", ".join(reference), ", ".join(moved), ", ".join(moved[:2]) + " and " + moved[2])
    missing, added = ", ".join(reference[:2]), ", ".join([*moved, other])
    return Drawn(
        "list", ", ".join(reference), right, (missing, added), open_wrong=(", ".join([*reference[:2], other]),)
    )


_STEPS = (
    "the legend says that the dark bars stand for the first group, and the axis starts at {a}.",
    "the bar is a little above the line of {b}, between it and the next mark of the axis.",
    "the second column of the table lists {a}, {b} and {c}, from which the largest is taken.",
    "the heading of the document names the sender, and the line below it holds the date.",
    "comparing the two curves, the blue one is higher from the {a}th point on.",
    "the slice in question covers about {b}% of the circle, the others share the rest.",
)
_MAKERS = (
    *((chart_numeric, 24), (chart_percent, 4), (year, 6), (count, 12), (percent, 5), (choice, 16), (name, 6)),
    *((multi_choice, 2), (document_name, 4), (document_address, 3), (document_code, 3), (document_amount, 3)),
    *((document_date, 2), (currency, 3), (unit, 4), (clock, 2), (iso_date, 1), (ratio, 2), (yes_no, 6), (names, 2)),
)
CHART_LIKE = Family("chart", _MAKERS, _STEPS, (2, 7))
