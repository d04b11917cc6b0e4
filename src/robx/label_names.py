"""What the names of labels say about which outcome applicants want."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Any, Literal

Sense = Literal["good", "bad"]

#: Beginnings of words, without accents, in English, German, Dutch, French, Spanish, Portuguese and
#: Italian; then in Russian, Chinese and Japanese.
BAD = tuple(
    """
    arrear attrition bankrupt blacklist chargeback chargeoff churn declin default delay delinq
    denied deny disapprov dropout exited fail fraud insolv misse nonperform overdue reject risk
    terminat unpaid unsuccess withdrawn writeoff
    abgelehnt abgewander ausfall ausgefallen betrug kundig mahn risik schlecht verlust verzug
    zahlungsausfall
    achterstand afgewezen wanbetal
    defaill defaut impaye mauvais refus resili retard
    atraso baja fraude impag incumpl malo moros rechaz vencid
    inadimpl reprovad recusad risc
    cattiv frode insolut respint rifiut ritard sofferenz
    дефолт мошен отказ плох просроч
    违约 坏 逾期 拒绝 欺诈 流失 貸倒 延滞 不良 否決
    """.split()  # noqa: SIM905 - easier to read and to add to
)
GOOD = tuple(
    """
    accept admit approv creditworth eligib good grant hired honour paid passed payback payed promot
    qualif repaid repay retain settled solvent succe surviv
    angenommen bewilligt bezahlt genehmigt gut kreditwurdig zuruckgezahlt
    betaald geaccepteerd goed goedgekeurd
    accord approuv embauch paye rembours solvab
    acept aprob buen conced pagad reembols solven
    aceit aprov concedid
    accett approvat buon concess pagat rimbors
    одобр погаш хорош
    好 批准 通过 承認 完済
    """.split()  # noqa: SIM905 - easier to read and to add to
)
#: Words that are too short to be the beginning of one.
BAD_WORDS = frozenset("bad bads npl dlq dlqin late left lost loss mal mau mora".split())  # noqa: SIM905
GOOD_WORDS = frozenset("bien bom bon goods ok pass".split())  # noqa: SIM905
#: Words that turn those after them round.
NEGATIONS = frozenset(
    "not non no never without kein keine nicht sans sin sem senza niet geen nao".split()  # noqa: SIM905 - easier to read and to add to
)
#: Beside the name of a bad outcome they may well mean a good one.
LESSENING = frozenset(("low", "lower", "lowest", "less", "free", "little", "least"))
#: In names without blanks, these before a stem or after it turn it round, if they are not a part of
#: "whether".
UNCLEAR = re.compile(
    "(?<!是)[不未没沒非无無否]有?(?:{0})|(?:{0})し?(?:なし|ない|無)".format(
        "|".join(stem for stem in (*BAD, *GOOD) if stem[0] >= "\u3000")
    )
)
#: What stands for "it is so" and for "it is not so", beside a name that says what.
TRUE = frozenset({"1", "1.0", "true", "t", "yes", "y", "ja", "j", "oui", "si", "sim"})
FALSE = frozenset({"0", "0.0", "-1", "-1.0", "false", "f", "no", "n", "nein", "non", "nee", "nao"})


def sense_of(name: Any) -> Sense | None:
    """Say whether a name is that of a good or of a bad outcome; None if it does not say.

    Examples
    --------
    >>> sense_of("loan_default"), sense_of("SeriousDlqin2yrs"), sense_of("notApproved")
    ('bad', 'bad', 'bad')
    >>> sense_of("Good"), sense_of("non-default"), sense_of("zurückgezahlt")
    ('good', 'good', 'good')
    >>> sense_of("class"), sense_of("good_or_bad"), sense_of("low_risk")
    (None, None, None)
    """
    found: set[Sense] = set()
    turned = False
    words = _words(str(name))
    if UNCLEAR.search(str(name)) or ("no", "of") in pairwise(words):  # a number of something
        return None
    for word in words:
        sense = _sense_of_word(word)
        if sense is not None and turned:
            sense = "good" if sense == "bad" else "bad"
        if sense is not None:
            found.add(sense)
        turned = turned or word in NEGATIONS
    if "bad" in found and any(w in LESSENING or w.endswith(("less", "free")) for w in words):
        return None
    return found.pop() if len(found) == 1 else None


def sense_of_class(label: str | None, target: Any, others: list[Any]) -> Sense | None:
    """Say whether a class of labels is the good or the bad outcome; None if no name says it.

    Parameters
    ----------
    label : str or None
        Name of the column of labels.
    target : label
        The class in question.
    others : list of labels
        The other classes.

    Examples
    --------
    >>> sense_of_class("class", "good", ["bad"]), sense_of_class("class", "late", ["on time"])
    ('good', 'bad')
    >>> sense_of_class("churn", 1, [0]), sense_of_class("churn", "no", ["yes"])
    ('bad', 'good')
    >>> sense_of_class("y", 1, [0]) is None
    True
    """
    value = _plain(target)
    if value in TRUE | FALSE:
        of_name = None if label is None else sense_of(label)
        if of_name is None or value in TRUE:
            return of_name
        return "good" if of_name == "bad" else "bad"
    own = sense_of(target)
    if len(others) != 1:
        return own
    other = sense_of(others[0])
    if own is not None:
        return None if own == other else own
    return None if other is None else ("good" if other == "bad" else "bad")


def _sense_of_word(word: str) -> Sense | None:
    if word in BAD_WORDS or _begins(word, BAD):
        return "bad"
    if word in GOOD_WORDS or _begins(word, GOOD):
        return "good"
    return "bad" if word.startswith(("un", "in")) and _begins(word[2:], GOOD) else None


def _begins(word: str, stems: tuple[str, ...]) -> bool:
    """Whether a word has a stem: at its beginning, or anywhere where words are not separated."""
    return word.startswith(stems) or any(s in word for s in stems if not s.isascii())


def _words(name: str) -> list[str]:
    """Split a name into words of small letters without accents."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    plain = unicodedata.normalize("NFKD", split).casefold()
    letters = "".join(one for one in plain if not unicodedata.combining(one))
    return re.findall(r"[^\W\d_]+", letters)


def _plain(label: Any) -> str:
    return str(label).strip().casefold()
