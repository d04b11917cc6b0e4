"""Which columns are about protected features: sex, race, age, religion and others.

A schema that is guessed keeps these fixed, and lets an age only rise. They are recognised by the
words of a column's name, in several languages, or by its levels. `TERMS` is all that is known; the
page "Protected features" of the documentation shows it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

AGE = "age"

#: For each protected feature its terms by language. A term of several words is one in this order.
TERMS: dict[str, dict[str, str]] = {
    AGE: {
        "English": "age, years old, senior citizen",
        "German": "Alter, Lebensalter, Altersgruppe, Altersklasse",
        "French": "âge, tranche d'âge",
        "Spanish": "edad",
        "Italian": "età, anni compiuti",
        "Portuguese": "idade",
        "Dutch": "leeftijd",
        "others": "wiek, ålder, alder, ikä, yaş, věk, vârstă, életkor, возраст, 年龄, 年齢, 나이",
    },
    "sex and gender": {
        "English": "sex, gender, male, female",
        "German": "Geschlecht, männlich, weiblich, famges",
        "French": "sexe, genre, masculin, féminin",
        "Spanish": "sexo, género, masculino, femenino",
        "Italian": "sesso, genere, maschio, femmina",
        "Portuguese": "sexo, gênero, masculino, feminino",
        "Dutch": "geslacht, mannelijk, vrouwelijk",
        "others": "płeć, plec, kön, køn, kjønn, kjonn, sukupuoli, cinsiyet, pohlaví, пол, 性别, "
        "性別, 성별",
    },
    "race and ethnicity": {
        "English": "race, racial, ethnicity, ethnic, ethnic group, minority, hispanic, latino, "
        "latina, indigenous, aboriginal, tribe, caste",
        "German": "Rasse, Ethnie, Ethnizität, ethnisch, ethnische Herkunft, Volksgruppe",
        "French": "ethnie, ethnique, ethnicité, origine ethnique",
        "Spanish": "raza, etnia, etnicidad, grupo étnico, indígena",
        "Italian": "razza, etnia, gruppo etnico, origine etnica",
        "Portuguese": "raça, etnia, etnicidade, grupo étnico, indígena",
        "Dutch": "ras, etniciteit, etnische afkomst, migratieachtergrond",
        "others": "rasa, etniczność, etnicitet, etnisitet, ırk, раса, 种族, 民族, 人種",
    },
    "colour": {
        "English": "color, colour, skin color, skin colour, skin tone",
        "German": "Hautfarbe",
        "French": "couleur de peau",
        "Spanish": "color de piel",
        "Italian": "colore della pelle",
        "Portuguese": "cor da pele, cor raça",
        "Dutch": "huidskleur",
        "others": "kolor skóry, hudfärg, hudfarge",
    },
    "nationality and origin": {
        "English": "nationality, citizenship, citizen, national origin, country of origin, "
        "native country, home country, immigrant, immigration, migrant, foreign, foreigner, "
        "foreign worker, foreign born, refugee, ancestry",
        "German": "Nationalität, Staatsangehörigkeit, Staatsbürgerschaft, Herkunft, Herkunftsland, "
        "Ausländer, Gastarbeiter, gastarb, Migrationshintergrund",
        "French": "nationalité, citoyenneté, pays d'origine, étranger, immigré",
        "Spanish": "nacionalidad, ciudadanía, país de origen, extranjero, inmigrante",
        "Italian": "nazionalità, cittadinanza, paese di origine, straniero, immigrato",
        "Portuguese": "nacionalidade, cidadania, país de origem, estrangeiro, imigrante",
        "Dutch": "nationaliteit, staatsburgerschap, land van herkomst, herkomst, buitenlander",
        "others": "narodowość, obywatelstwo, nationalitet, medborgarskap, statsborgerskab, "
        "kansalaisuus, uyruk, národnost, гражданство, 国籍, 국적",
    },
    "birth": {
        "English": "birth, birthday, birthdate, birthyear, birthplace, date of birth, "
        "year of birth, place of birth, country of birth, born, dob, yob",
        "German": "Geburt, Geburtsdatum, Geburtsjahr, Geburtstag, Geburtsort, Geburtsland, "
        "geboren, Jahrgang",
        "French": "naissance, date de naissance, lieu de naissance",
        "Spanish": "nacimiento, fecha de nacimiento, lugar de nacimiento",
        "Italian": "nascita, data di nascita, luogo di nascita",
        "Portuguese": "nascimento, data de nascimento, naturalidade",
        "Dutch": "geboorte, geboortedatum, geboortejaar, geboorteplaats, geboorteland",
        "others": "urodzenia, urodzenie, födelse, födelseår, fødsel, fødselsdato, syntymä, doğum, "
        "narození, рождения, 出生, 生日",
    },
    "marital status": {
        "English": "marital, marital status, marriage, married, unmarried, divorced, widowed, "
        "personal status, family status, civil status, relationship status, spousal status",
        "German": "Familienstand, Zivilstand, verheiratet, ledig, geschieden, verwitwet",
        "French": "état civil, situation familiale, situation matrimoniale, statut marital, "
        "statut matrimonial, marié",
        "Spanish": "estado civil, casado, casada, situación matrimonial",
        "Italian": "stato civile, sposato, coniugato, stato coniugale",
        "Portuguese": "estado civil, casado, casada, situação conjugal",
        "Dutch": "burgerlijke staat, burgerlijke stand, gehuwd, gescheiden, huwelijk",
        "others": "stan cywilny, civilstånd, civilstand, sivilstand, siviilisääty, medeni hal, "
        "medeni durum, rodinný stav, семейное положение, 婚姻, 婚姻状况, 婚否",
    },
    "children and dependants": {
        "English": "children, number of children, kids, dependents, dependants",
        "German": "Kinder, Kinderzahl, unterhaltsberechtigte",
        "French": "enfants, personnes à charge",
        "Spanish": "hijos, dependientes, personas a cargo",
        "Italian": "figli, familiari a carico",
        "Portuguese": "filhos, dependentes",
        "Dutch": "kinderen",
        "others": "dzieci, lapset, çocuk, дети",
    },
    "pregnancy": {
        "English": "pregnancy, pregnant, maternity, maternity leave",
        "German": "Schwangerschaft, schwanger, Mutterschutz",
        "French": "grossesse, enceinte, maternité",
        "Spanish": "embarazo, embarazada, maternidad",
        "Italian": "gravidanza, incinta, maternità",
        "Portuguese": "gravidez, grávida, maternidade",
        "Dutch": "zwangerschap, zwanger",
        "others": "ciąża, gravid, graviditet, raskaus, hamilelik, беременность, 怀孕",
    },
    "religion and belief": {
        "English": "religion, religious, church, creed, religious belief, political opinion, "
        "political party, political affiliation, trade union, union member, union membership",
        "German": "Religion, Konfession, Glaube, Kirche, Kirchenmitglied, Religionszugehörigkeit, "
        "Gewerkschaft",
        "French": "religion, confession, croyance, église, syndicat",
        "Spanish": "religión, iglesia, creencia, sindicato",
        "Italian": "religione, chiesa, sindacato",
        "Portuguese": "religião, igreja, crença",
        "Dutch": "religie, geloof, godsdienst, kerk, vakbond",
        "others": "religia, wyznanie, uskonto, náboženství, религия, 宗教, 종교",
    },
    "disability": {
        "English": "disability, disabled, handicap, handicapped, impairment, wheelchair",
        "German": "Behinderung, behindert, schwerbehindert, Schwerbehinderung",
        "French": "handicap, handicapé, invalidité",
        "Spanish": "discapacidad, discapacitado, minusvalía, invalidez",
        "Italian": "disabilità, disabile, invalidità",
        "Portuguese": "deficiência, deficiente, invalidez",
        "Dutch": "handicap, beperking, arbeidsongeschikt",
        "others": "niepełnosprawność, funktionsnedsättning, vamma, engelli, invalidita, "
        "инвалидность, 残疾, 障害",
    },
    "health": {
        "English": "health, disease, illness, diagnosis, medical condition, medical history, "
        "chronic condition, hiv, bmi",
        "German": "Gesundheit, Gesundheitszustand, Krankheit, Diagnose, Vorerkrankung",
        "French": "santé, maladie, diagnostic",
        "Spanish": "salud, enfermedad, diagnóstico",
        "Italian": "salute, malattia, diagnosi",
        "Portuguese": "saúde, doença, diagnóstico",
        "Dutch": "gezondheid, ziekte, diagnose",
        "others": "zdrowie, choroba, hälsa, helbred, helse, terveys, sağlık, zdraví, здоровье, "
        "健康",
    },
    "genetic data": {
        "English": "genetic, genetics, genome, genotype, dna",
        "German": "genetisch, Genom",
        "French": "génétique, adn",
        "Spanish": "genética, genético, adn",
        "Italian": "genetica, genetico",
        "Portuguese": "genética, genético",
        "Dutch": "genetisch, genetische",
        "others": "genetyczny, genetik, 遗传, 基因",
    },
    "sexual orientation": {
        "English": "sexual orientation, sexuality, sexual preference, lgbt, lgbtq, homosexual, gay",
        "German": "sexuelle Orientierung, Sexualität",
        "French": "orientation sexuelle",
        "Spanish": "orientación sexual",
        "Italian": "orientamento sessuale",
        "Portuguese": "orientação sexual",
        "Dutch": "seksuele geaardheid, seksuele voorkeur",
        "others": "orientacja seksualna, sexuell läggning, seksuel orientering, cinsel yönelim",
    },
    "language": {
        "English": "language, mother tongue, first language, native language, native speaker",
        "German": "Sprache, Muttersprache",
        "French": "langue, langue maternelle",
        "Spanish": "idioma, lengua, lengua materna",
        "Italian": "lingua, madrelingua",
        "Portuguese": "idioma, língua, língua materna",
        "Dutch": "taal, moedertaal",
        "others": "język, jezyk, språk, sprog, modersmål, äidinkieli, anadil, jazyk, язык, 语言, "
        "母语, 言語",
    },
}

#: Features whose terms things can have, too: an account has an age, and a car a colour.
OF_THINGS = (AGE, "colour", "disability", "health", "language")

#: With one of these words a term of `OF_THINGS` is not about a person.
THINGS = """
    account acct loan mortgage credit debt trade tradeline line file history inquiry enquiry invoice
    policy contract card bank vehicle car auto truck motorcycle home house housing building property
    dwelling apartment flat unit company business firm enterprise employer device phone computer
    equipment machine asset stock inventory product item order record website web page site app
    browser domain system interface programming software insurance premium expense cost spending
    financial deposit collateral average avg mean median oldest newest
    konto kredit vertrag fahrzeug wagen haus gebäude wohnung immobilie firma versicherung
    compte prêt crédit véhicule voiture maison logement bâtiment entreprise assurance
    cuenta préstamo crédito vehículo coche casa vivienda edificio empresa seguro
    conto prestito credito veicolo macchina edificio azienda assicurazione
    conta empréstimo veículo carro imóvel seguro
    rekening lening krediet voertuig huis woning gebouw bedrijf verzekering
"""
#: With one of these it is about one again: the age of an account's holder.
HOLDERS = "holder holders owner owners inhaber titular titulaire titolare houder"

#: Terms that are also about something else, or words of another language: they must be the name.
WHOLE = "foreign eta ras kon koen yas ika vek irk genre"

#: Words of levels that tell what a text column is about, whatever its name is.
LEVELS: dict[str, str] = {
    "sex and gender": """
        male female man woman men women m f w boy girl transgender nonbinary
        mann frau männlich weiblich homme femme masculin féminin hombre mujer masculino femenino
        feminino maschio femmina uomo donna homem mulher vrouw mannelijk vrouwelijk
    """,
    "race and ethnicity": """
        asian hispanic latino latina latinx caucasian african eskimo hawaiian islander alaska
        indigenous aboriginal roma
    """,
    "religion and belief": """
        christian catholic protestant orthodox muslim islam islamic jewish judaism hindu hinduism
        buddhist buddhism sikh atheist
        katholisch evangelisch muslimisch jüdisch catholique protestante musulman cattolico católico
    """,
    "marital status": """
        married unmarried single divorced widowed widow widower separated husband wife spouse
        verheiratet ledig geschieden verwitwet marié mariée célibataire divorcé divorcée veuf veuve
        casado casada soltero soltera divorciado divorciada viudo viuda sposato celibe nubile
        coniugato coniugata divorziato vedovo solteiro solteira viúvo gehuwd ongehuwd gescheiden
    """,
}
#: Levels that say nothing.
UNKNOWN = (
    "unknown other none missing na n a x prefer not to say unbekannt divers diverse autre otro"
)

WORD = re.compile(r"[^\W\d_]+")


def words_of(name: str) -> list[str]:
    """Cut a name into its words, in lower case and without accents; digits and signs part words.

    Examples
    --------
    >>> words_of("applicantRace1"), words_of("DAYS_BIRTH"), words_of("AverageMInFile")
    (['applicant', 'race'], ['days', 'birth'], ['average', 'm', 'in', 'file'])
    """
    return [_plain(part) for run in WORD.findall(name) for part in _humps(run)]


def protected_by(name: str, levels: Iterable[object] = ()) -> str | None:
    """Name the protected feature that a column is about, by its name or its levels.

    Parameters
    ----------
    name : str
    levels : iterable, optional
        The levels of a column of text, or what the names of one-hot columns end in.

    Examples
    --------
    >>> protected_by("applicantRace1"), protected_by("mortgage"), protected_by("age_of_account")
    ('race and ethnicity', None, None)
    >>> protected_by("x7", ["Male", "Female"])
    'sex and gender'
    """
    words = words_of(name)
    of_holder = bool(set(HOLDERS.split()) & set(words))
    for feature, terms in _terms().items():
        for term in terms:
            others = _singular(words) - set(term)
            of_thing = feature in OF_THINGS and not of_holder and _thing_words() & others
            if _holds(words, term) and not of_thing:
                return feature
    return _by_levels([level for level in levels if isinstance(level, str)])


def _by_levels(levels: Sequence[str]) -> str | None:
    """Name what levels are about: two or more of them, and a third, or all where it is sex."""
    said = [words for level in levels if set(words := words_of(level)) - set(UNKNOWN.split())]
    for feature, known in _level_words().items():
        about = [words for words in said if known & set(words)]
        share = 1.0 if feature == "sex and gender" else 1 / 3
        if len(about) > 1 and len(about) >= share * len(said):
            return feature
    return None


def _holds(words: Sequence[str], term: tuple[str, ...]) -> bool:
    """Whether a name has the words of a term one after the other, or written as one."""
    n = len(term)
    if n == 1 and term[0] in WHOLE.split():
        return tuple(words) == term
    in_order = any(tuple(words[k : k + n]) == term for k in range(len(words) - n + 1))
    return in_order or (n > 1 and "".join(term) in words)


def _humps(run: str) -> list[str]:
    """Cut letters where a word begins in upper case: camelCase, HTTPServer."""
    cuts = [0]
    for k in range(1, len(run)):
        begins = run[k].isupper() and not run[k - 1].isupper()
        ends = run[k].isupper() and run[k + 1 : k + 2].islower() and run[k - 1].isupper()
        cuts += [k] if begins or ends else []
    return [run[a:b] for a, b in zip(cuts, [*cuts[1:], len(run)], strict=True)]


def _plain(word: str) -> str:
    """Give a word in lower case without accents."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in parts if not unicodedata.combining(c)))


def _spellings(word: str) -> set[str]:
    """Give a word without accents, and with umlauts written as two letters."""
    spelled = word.casefold()
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ø", "o"), ("ł", "l")):
        spelled = spelled.replace(umlaut, letters)
    return {_plain(word), _plain(spelled)}


def _singular(words: Iterable[str]) -> set[str]:
    return {form for word in words for form in (word, word.removesuffix("s"))}


@cache
def _terms() -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for feature, by_language in TERMS.items():
        said = [term for terms in by_language.values() for term in terms.split(",")]
        plain = [tuple(words_of(term)) for term in said]
        spelled = [tuple(words_of(form)) for term in said for form in _spellings(term.strip())]
        found[feature] = list(dict.fromkeys([*plain, *spelled]))
    return found


@cache
def _thing_words() -> frozenset[str]:
    return frozenset(form for word in THINGS.split() for form in _spellings(word))


@cache
def _level_words() -> dict[str, frozenset[str]]:
    return {
        feature: frozenset(form for word in words.split() for form in _spellings(word))
        for feature, words in LEVELS.items()
    }
