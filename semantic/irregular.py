"""English verbs whose past is not made by an ending: each form to its verb."""

from __future__ import annotations

from typing import Final

_VERBS: Final = """
be was were been being
bear bore borne
beat beaten
become became
begin began begun
bend bent
bite bit bitten
bleed bled
blow blew blown
break broke broken
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
come came
cut cutting
deal dealt
dig dug
do did done
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
forget forgot forgotten
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
have had
hear heard
hide hid hidden
hold held
keep kept
know knew known
lay laid
lead led
learn learnt
leave left
lend lent
lie lay lain
lose lost
make made
mean meant
meet met
overcome overcame
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran running
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shoot shot
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
spell spelt
spend spent
spoil spoilt
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
withdraw withdrew withdrawn
write wrote written
"""
VERB: Final = {
    form: line.split()[0] for line in _VERBS.strip().splitlines() for form in line.split()
}
