"""What the answers are and are not: a text for every report."""

from __future__ import annotations

from robx.answers import Counterfactuals
from robx.reports.figures import counted

TITLES = {
    "use": "What this is, and what it is not",
    "tested": "What the certificate says",
    "untested": "No certificate",
    "costs": "What the costs mean",
}
TEXTS = {
    "use": "Each answer is a change of an applicant's data that the model accepts, within the "
    "rules that the lender set for what may change. It is advice about one model. It is not an "
    "offer of credit, not a prediction that a person can or will make the change, and not a "
    "claim that the change causes better repayment. The changes are one way among others, "
    "not the reasons for which the model declined: where the law requires a lender to state "
    "the principal reasons for an adverse decision, this list does not replace them. This "
    "report is not legal advice; have its use in letters to applicants reviewed by those who "
    "are responsible for them.",
    "tested": "{models} scored every answer. The share that accepts is an estimate for models "
    "that are made in the same way, on rows that the answers were found with; what models on other "
    "rows will do is said by the promise, where one was rehearsed. It says nothing about a model "
    "of another kind, about one with other columns, or about a market that has changed: if the "
    "model changes drastically, no answer can be promised. Check the answers against a new "
    "model before it goes live.",
    "untested": "No retrained model scored these answers. Stability under small random changes "
    "makes it more likely that they hold, but does not measure it. With the training labels, "
    "robx trains the model again and certifies each answer; or check the answers against the "
    "next model.",
    "costs": "A cost of 1 is a change of one feature by its unit of cost, or of one category to "
    "another. The unit of cost is the range in the training data unless the schema states another "
    "one. Costs say how far the data move, not how hard that is for a person. Features that the "
    "schema leaves free are assumed to be free: see what may change, below.",
}


def limits(answers: Counterfactuals) -> list[dict[str, str]]:
    """List what a reader must know before using the answers: a title and a paragraph each."""
    certificate = answers.certificate
    models = "" if certificate is None else counted(certificate.n_models, "retrained model")
    names = ("use", "untested" if certificate is None else "tested", "costs")
    return [{"title": TITLES[name], "text": TEXTS[name].format(models=models)} for name in names]
