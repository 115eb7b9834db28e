"""The words of the demo world, as concepts with synonyms.

A concept is named by its first form; forms that share a line item, joined by `/`, are synonyms and
mean exactly the same. Every surface word belongs to one concept only, so that a sentence has one
reading. Concepts are grouped: nouns and places by topic (a hospital has nurses, bandages and
wards), verbs, times and adjectives by family. Two different concepts of one group are *related*,
which the gold rule in `frame.py` rewards a little.

Verbs are written `base past`, or `base past participle` where the participle differs from the past.
"""

from typing import NamedTuple


class Concept(NamedTuple):
    """One meaning: its name, the group it is related to, and its interchangeable surface forms."""

    name: str
    group: str
    forms: tuple


def _table(text: str) -> dict:
    """{group: (Concept, ...)} from lines `group: concept, concept`, each concept being
    `form/form`."""
    groups = {}
    for line in text.strip().splitlines():
        group, items = line.split(": ")
        concepts = []
        for item in items.split(", "):
            forms = tuple(item.split("/"))
            concepts.append(Concept(forms[0], group, forms))
        groups[group] = tuple(concepts)
    return groups


class Verb(NamedTuple):
    """One surface verb: base (`take`), past (`took`), participle (`taken`)."""

    base: str
    past: str
    participle: str


def _verbs(text: str) -> dict:
    """The same as `_table`, with a Verb in the place of every surface form."""

    groups = {}
    for group, concepts in _table(text).items():
        verbs = []
        for concept in concepts:
            forms = tuple(map(_surface_verb, concept.forms))
            verbs.append(Concept(forms[0].base, group, forms))
        groups[group] = tuple(verbs)
    return groups


def _surface_verb(text: str) -> Verb:
    base, past, *participle = text.split()
    return Verb(base, past, *(participle or [past]))


PERSONS = _table("""
hospital: doctor/physician/medic, nurse/caregiver, surgeon, patient/invalid, dentist, pharmacist/druggist
school: teacher/instructor/tutor, student/pupil, principal/headmaster, librarian, professor/lecturer
kitchen: chef, waiter/server, baker, butcher, guest/diner, hostess
farm: farmer/grower, shepherd, gardener, milkmaid, rancher/herder
sea: sailor/seaman/mariner, captain/skipper, fisherman/angler, diver, smuggler, pirate/buccaneer
court: judge/magistrate, lawyer/attorney, thief/robber/burglar, witness/bystander, policeman/constable
theater: actor/performer, singer/vocalist, dancer, painter, musician, director
office: manager/boss/supervisor, clerk, secretary, accountant/bookkeeper, banker/financier
workshop: carpenter/woodworker, mechanic, plumber, engineer, blacksmith, apprentice/trainee
sport: athlete/sportsman, coach/trainer, runner/sprinter, referee/umpire, boxer
home: mother/mom, father/dad, child/kid/youngster, grandmother/granny, neighbor, uncle
army: soldier/trooper/warrior, general/commander, spy, king/monarch/ruler, guard/sentry
""")

OBJECTS = _table("""
hospital: medicine/drug, bandage, thermometer, syringe/needle, stretcher
school: book/volume, pencil, notebook, map/chart, dictionary
kitchen: soup/broth, bread/loaf, cake/pastry, kettle, knife/blade, cheese
farm: plough, basket/hamper, tractor, pumpkin, apple, saddle
sea: boat/ship/vessel, net, anchor, rope/cord, lantern/lamp, compass
court: letter/note, contract/agreement, key, wallet/purse, gun/pistol
theater: violin/fiddle, mask, costume/outfit, portrait, script, drum
office: report/document/file, computer/laptop, telephone/phone, desk, calendar
workshop: hammer/mallet, ladder, engine/motor, chair/stool, pipe/tube, wheel
sport: ball, trophy/prize, bicycle/bike, racket, glove, helmet
home: sofa/couch, blanket/quilt, toy, doll, carpet/rug, clock, mirror
army: sword, tent, flag/banner, crown, shield, trumpet/bugle
""")

PLACES = _table("""
hospital: in the hospital/in the clinic, in the ward, at the pharmacy
school: in the library, in the classroom/in the schoolroom, on the campus
kitchen: in the kitchen, at the restaurant/at the bistro, in the pantry
farm: in the field/in the meadow, near the barn/near the stable, in the orchard
sea: on the beach/on the shore, at the harbor/at the port, on the island
court: in the prison/in the jail, in the courtroom, behind the bank
theater: on the stage, at the museum/at the gallery, in the ballroom
office: in the office/in the bureau, in the lobby/in the foyer, in the elevator/in the lift
workshop: in the workshop, in the garage, near the factory/near the mill
sport: in the stadium/in the arena, on the racetrack, in the gym
home: in the bedroom, in the attic/in the loft, in the cellar/in the basement
army: in the castle/in the fortress, at the border/at the frontier, in the forest/in the woods
""")

TIMES = _table("""
daypart: at dawn/at sunrise, at noon/at midday, at dusk/at sunset, at midnight
weekday: on monday, on tuesday, on friday, on sunday
season: last winter, last summer, last spring, last autumn/last fall
event: after the storm/after the tempest, during the war, during the holiday/during the vacation, before the wedding
meal: before breakfast, after lunch, after dinner/after supper
past: yesterday, recently/lately, long ago, once
""")

MANNERS = _table("""
speed: quickly/rapidly/swiftly, slowly/unhurriedly
noise: quietly/silently/noiselessly, loudly/noisily
care: carefully/cautiously, carelessly/recklessly
mood: gladly/happily/cheerfully, sadly/sorrowfully, angrily/furiously, calmly/peacefully
secrecy: secretly/covertly, openly/publicly
manners: politely/courteously, rudely/impolitely
force: gently/softly, roughly/harshly
courage: bravely/courageously, nervously/anxiously
luck: accidentally, deliberately/intentionally
""")

TRAITS = _table("""
age: old/elderly/aged, young/youthful
size: tall, short, fat/plump, thin/slender
wealth: rich/wealthy/affluent, poor/needy
mind: clever/smart/intelligent, foolish/silly/stupid
heart: kind/generous, cruel/heartless, honest/truthful, greedy
fame: famous/renowned/celebrated, unknown/obscure
state: tired/weary/exhausted, lonely, shy/timid, merry/jolly, strange/odd/peculiar
power: strong/muscular, weak/feeble
""")

QUALITIES = _table("""
color: red/crimson/scarlet, blue, green, black, white, golden
bulk: big/large/huge, small/little/tiny
years: new, ancient/antique
weight: heavy, light
price: expensive/costly/pricey, cheap/inexpensive
condition: cracked/damaged, dirty/filthy, spotless
material: wooden, plastic
beauty: beautiful/pretty/lovely, ugly/hideous
""")
