"""Common English function words, for ESimCSE's insertion of stop-words.

Which list the paper used is not known (the released code refers to one that is commented out, D72); this one is ours: articles,
conjunctions, prepositions, pronouns, auxiliaries and a few adverbs.
"""

STOP_WORDS = tuple(
    """
    a an the this that these those and or but if because as until while of at by for with about against between into
    through during before after above below to from up down in out on off over under again further then once here there
    when where why how all any both each few more most other some such no nor not only own same so than too very
    i me my we us our you your he him his she her it its they them their what which who whom
    am is are was were be been being have has had do does did can could will would shall should may might must just now
    """.split()
)
