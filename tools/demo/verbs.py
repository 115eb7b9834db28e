"""The verbs of the demo world, by what they take: nobody, a person, a thing, or a thing and a
person who receives it; and which of them go with which topic."""

from tools.demo.lexicon import _verbs

ALONE = _verbs("""
sleep: sleep slept/doze dozed, rest rested/relax relaxed, snore snored
joy: laugh laughed/giggle giggled/chuckle chuckled, smile smiled/grin grinned, dance danced
grief: cry cried/weep wept/sob sobbed, complain complained/grumble grumbled, sigh sighed
voice: shout shouted/yell yelled/scream screamed, sing sang sung, whistle whistled, cough coughed
motion: run ran run/dash dashed, walk walked/stroll strolled, swim swam swum, fall fell fallen/stumble stumbled
passage: arrive arrived, leave left/depart departed, disappear disappeared/vanish vanished
effort: work worked/labor labored/toil toiled, wait waited/linger lingered, pray prayed
""")

TO_PERSON = _verbs("""
approval: praise praised/commend commended, thank thanked, admire admired/respect respected, applaud applauded
reproach: criticize criticized/scold scolded/rebuke rebuked, blame blamed/accuse accused, mock mocked/ridicule ridiculed
aid: help helped/assist assisted/aid aided, rescue rescued/save saved, comfort comforted/console consoled
violence: attack attacked/assault assaulted, push pushed/shove shoved, kick kicked, threaten threatened
pursuit: follow followed/trail trailed, chase chased/pursue pursued, watch watched/observe observed
contact: meet met/encounter encountered, greet greeted/welcome welcomed, visit visited, invite invited
affection: kiss kissed, hug hugged/embrace embraced, marry married/wed wedded
staff: hire hired/employ employed/recruit recruited, dismiss dismissed/sack sacked, promote promoted
deceit: deceive deceived/trick tricked/fool fooled, ignore ignored/disregard disregarded, betray betrayed
pardon: forgive forgave forgiven/pardon pardoned, punish punished
""")

TO_THING = _verbs("""
obtain: buy bought/purchase purchased/acquire acquired, steal stole stolen/swipe swiped, borrow borrowed, choose chose chosen/select selected
seek: find found/discover discovered/locate located, lose lost/misplace misplaced
conceal: hide hid hidden/conceal concealed, cover covered, bury buried
damage: break broke broken/smash smashed/shatter shattered, burn burned/scorch scorched, destroy destroyed/wreck wrecked
improve: repair repaired/fix fixed/mend mended, clean cleaned/wash washed, decorate decorated/adorn adorned
handle: carry carried/haul hauled, lift lifted/raise raised, drop dropped, throw threw thrown/toss tossed/hurl hurled
inspect: examine examined/inspect inspected, weigh weighed, touch touched, count counted
make: build built/construct constructed, draw drew drawn/sketch sketched
""")

TO_RECEIVER = _verbs("""
gift: give gave given/hand handed, offer offered, promise promised
dispatch: send sent/mail mailed, bring brought/deliver delivered
trade: sell sold, lend lent/loan loaned, return returned
exhibit: show showed shown/display displayed, describe described
""")

# What people of a topic do: the family of each kind of verb that a scene of the topic prefers.
HABITS = {
    "hospital": ("sleep", "aid", "inspect", "dispatch"),
    "school": ("voice", "approval", "make", "exhibit"),
    "kitchen": ("effort", "contact", "improve", "gift"),
    "farm": ("effort", "affection", "handle", "trade"),
    "sea": ("motion", "aid", "seek", "dispatch"),
    "court": ("passage", "reproach", "conceal", "exhibit"),
    "theater": ("joy", "approval", "obtain", "exhibit"),
    "office": ("passage", "staff", "seek", "dispatch"),
    "workshop": ("effort", "staff", "improve", "trade"),
    "sport": ("motion", "pursuit", "handle", "gift"),
    "home": ("grief", "affection", "conceal", "gift"),
    "army": ("voice", "violence", "damage", "trade"),
}
