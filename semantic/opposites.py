"""Pairs of words that turn a question round: the sides of a pair are divided by a stroke."""

from __future__ import annotations

from typing import Final

ENGLISH: Final = """
allow, allowed, permit, permitted, let | ban, banned, forbid, forbidden, prohibit, prohibited,
    disallow
enable, activate, enabled, activated | disable, deactivate, disabled, deactivated
enroll, enrol, join, register, sign up | withdraw, leave, quit, drop out
open, opened, opening | close, closed, shut, closing
start, begin, starting, beginning, started | stop, end, finish, ending, stopped, finished
increase, raise, grow, gain, higher, more, rise, rising, increasing | decrease, reduce, lower,
    lose, less, shrink, fall, drop, decline, fewer, cut, decreasing, reducing
buy, purchase, buying | sell, selling, sold
add, insert, append, adding | remove, delete, drop, removing, subtract, take off
upload, uploading | download, downloading
import, imported | export, exported
send, sending, sent | receive, receiving, received
lend, lending | borrow, borrowing
encrypt, encryption | decrypt, decryption
encode | decode
compress | decompress, extract
install, instal | uninstall, uninstal
upgrade | downgrade
subscribe, opt in | unsubscribe, opt out
lock, locked, freeze, block, blocked, frozen | unlock, unlocked, unfreeze, unblock, unblocked
mute | unmute
follow | unfollow
connect, connected | disconnect, disconnected
show, display, reveal | hide, conceal
include, including, included | exclude, excluding, excluded, except
accept, approve, accepted, approved | reject, decline, refuse, deny, rejected, declined, refused,
    denied
advantage, benefit, upside, pro, strength | disadvantage, drawback, downside, con, risk, weakness,
    danger
positive, good, best, better, happy | negative, bad, worst, worse, unhappy
max, maximum, most, highest, largest, upper | min, minimum, least, lowest, smallest
before, prior, earlier | after, afterward, later, following
above, over, exceeding, beyond | below, under, beneath
in, inside, indoor, into | out, outside, outdoor
up, upward | down, downward
left | right
north, northern | south, southern
east, eastern | west, western
front | back, rear
first | last
new, newest | old, oldest, existing
public | private
cheap, cheaper, cheapest | expensive, dearer, costly
big, bigger, large, larger, biggest | small, smaller
long, longer, longest | short, shorter, shortest
fast, faster, quick | slow, slower
hot, warm, hotter | cold, cool, colder
hard, difficult, harder | easy, simple, easier
early | late
full, whole | empty, partial
with | without
same | different
true | false
safe, safely | dangerous, unsafe, harmful
legal, lawful | illegal, unlawful
win, winning, won | lose, losing, lost
success, succeed, successful | failure, fail, failed, unsuccessful
pass, passed | fail, failed
inbound, incoming, arrival, arrive | outbound, outgoing, departure, depart
internal | external
input | output
encourage | discourage
attach | detach
mount | unmount
push | pull
read | write
login, log in, sign in | logout, log out, sign out
check in | check out
turn on, switch on | turn off, switch off
import | export
save | spend
deposit, pay in | withdraw, withdrawal, take out
credit | debit
hire, hiring | fire, firing, dismiss
rent, tenant | own, owner, homeowner
landlord | tenant, renter
employer, boss | employee, worker
buyer, customer | seller, vendor
sender | recipient
parent | child
candidate, applicant, interviewee | interviewer, recruiter
teacher, instructor, tutor | pupil, student
doctor, nurse, therapist, dentist | patient
lawyer, solicitor, therapist | client
lender, creditor | borrower, debtor
plaintiff, claimant, prosecutor | defendant, accused
insurer | insured, policyholder
host | guest
driver, pilot | passenger
supplier, waiter | customer, diner
donor, giver, sender | recipient, receiver
publisher | author
speaker, lecturer | listener, audience
writer | reader
bride | groom, bridegroom
husband | wife
victim | offender, perpetrator
examiner | candidate, examinee
coach | player, athlete
leader | follower
winner | loser
male, man, men | female, woman, women
boy | girl
spicy | mild
wet | dry
light | heavy
light | dark
strict | loose, lenient
temporary | permanent
optional, voluntary | mandatory, compulsory, required
single | double, joint, pair
asc, ascending | desc, descending
horizontal | vertical
synchronous, sync | asynchronous, async
client | server
formal | informal, casual
online | offline
manual, manually | automatic, automatically
domestic, national | international, foreign
full time, fulltime | part time, parttime, part timer
prepaid | postpaid, contract
adult | child, kid, infant, baby
beginner, novice | expert, advanced
weekday | weekend
yearly, annual, annually | monthly
free | paid, enterprise, premium
cause | prevent, cure
agree | disagree
support, favour, favor | oppose
keep, continue, resume | cancel, pause, suspend
confirm | cancel
create, make | destroy, delete
attack | defend
ask | answer
pick up, collect | drop off
gross | net
high | low
tall | short
wide, broad | narrow
thick | thin
deep | shallow
tight | loose
soft | hard
rough | smooth
sharp | blunt
raw | cooked
sweet | sour, bitter
fat | slim, skinny
near | far
strong | weak
rich | poor
young | old
clean | dirty
loud, noisy | quiet, silent
bright | dark, dim
odd | even
major | minor
active | passive
alive, living | dead
awake | asleep
guilty | innocent
profit | loss
give, given, gave, donate | receive, received, take, taken
arrive, arrives | depart, departs
attract | repel
build | demolish
appear | vanish, disappear
float | sink
freeze | thaw, melt
expand | contract, shrink
gather | scatter
love | hate
marry | divorce
praise | criticise, criticize, blame
remember | forget
reward | punish
tighten | loosen
strengthen | weaken
widen | narrow
lengthen | shorten
enlarge | shrink, reduce
inhale | exhale
ancient | modern
rural | urban
personal | commercial, business, corporate
"""
