"""What the answers are and are not, in words that go with every report."""

from __future__ import annotations

from robx.answers import Counterfactuals
from robx.reports.figures import counted

TITLES = {
    "use": "What this is, and what it is not",
    "tested": "What the certificate says",
    "untested": "No certificate",
    "costs": "What costs say",
}
TEXTS = {
    "use": "Each answer is a change of an applicant's data that the model accepts, within the "
    "rules that the lender set on what may change. It is advice about one model. It is no "
    "offer of credit, no prediction that a person can or will make the change, and no "
    "claim that the change causes better repayment. The changes are one way among others, "
    "not the reasons for which the model declined: where the law asks a lender to state "
    "the principal reasons of an adverse decision, this list does not stand in for them. "
    "This report is no legal advice; have its use in letters to applicants looked at by "
    "those who answer for them.",
    "tested": "{models} asked about every answer. The share that accepts is "
    "an estimate for models that come about in the same way. It does not speak of a model of "
    "another kind, of one with other columns, or of a market that has changed: if the "
    "model changes drastically, no answer can be promised. Check the answers against a "
    "new model before it goes live.",
    "untested": "No retrained model was asked about these answers. Stability under small random "
    "changes makes it likelier that they hold, and is no measurement of it. With the "
    "training labels, robx trains the model again and certifies each answer; or check "
    "them against the next model.",
    "costs": "A cost of 1 is a change of one feature by its unit of cost, which is the range seen "
    "in training unless the schema states another, or of one category for another. It "
    "says how far the data move, not how hard that is for a person. Features that the "
    "schema leaves free are assumed to be free: look at what may change, below.",
}


def limits(answers: Counterfactuals) -> list[dict[str, str]]:
    """List what a reader must know before using the answers: a title and a paragraph each."""
    certificate = answers.certificate
    about, texts = "untested", TEXTS
    if certificate is not None:
        were = "was" if certificate.n_models == 1 else "were"
        models = f"{counted(certificate.n_models, 'retrained model')} {were}"
        about, texts = "tested", {**TEXTS, "tested": TEXTS["tested"].format(models=models)}
    return [{"title": TITLES[name], "text": texts[name]} for name in ("use", about, "costs")]
