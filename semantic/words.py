"""English words by what they do in a question."""

from __future__ import annotations

from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


FILLERS: Final = _set(
    "please pls plz thanks thank thx kindly hi hello hey dear um uh er erm umm hmm ok okay cheers"
)
"""Said to the listener, not asked."""

ARTICLES: Final = _set("a an the of that which")
"""Left out of the body; `this` and `that one` point at something and stay."""

AUXILIARY: Final = _set(
    "do does did is are was were am be been being have has had can could will would shall should "
    "may might must"
)
SUBJECTS: Final = _set("i we one someone somebody people anyone")

EMPTY: Final = (
    ARTICLES
    | AUXILIARY
    | _set(
        "i me my mine myself we us our ours you your yours yourself it its he she they them their "
        "one someone people there this these those to for in on at with and or if as so by from "
        "some any not what which who whom whose when where why how just about into than then "
        "also too very really actually currently exactly usually generally much many available "
        "way"
    )
)
"""Words that alone do not make two questions different topics."""

NEGATORS: Final = _set(
    "not no never without cannot none nobody nothing neither nor nowhere unable except excluding "
    "hardly refuse fail failed fails failing unsuccessful lack lacking avoid prevent "
    "ban banned bans forbid forbidden prohibit prohibited exclude excluded instead impossible"
)

CONTRACTED: Final = {
    "whats": "what is", "wheres": "where is", "hows": "how is", "whos": "who is",
    "whens": "when is", "dont": "do not", "doesnt": "does not", "didnt": "did not",
    "cant": "can not", "cannot": "can not", "wont": "will not", "isnt": "is not",
    "arent": "are not", "wasnt": "was not", "werent": "were not", "couldnt": "could not",
    "shouldnt": "should not", "wouldnt": "would not", "havent": "have not", "hasnt": "has not",
    "hadnt": "had not", "im": "i am", "ive": "i have", "id": "id", "youre": "you are",
    "theres": "there is", "thats": "that is", "gonna": "going to", "wanna": "want to",
    "aint": "is not", "u": "you", "ur": "your", "r": "r", "e": "e",
}  # fmt: skip
"""As typed in haste."""
CLITICS: Final = {
    "s": "'s", "re": "are", "ve": "have", "ll": "will", "d": "would", "m": "am", "t": "not",
}  # fmt: skip
IS_AFTER: Final = _set("what where how who when why there that it he she here which whats let")
"""Words after which an apostrophe and s is `is`, elsewhere it is the genitive."""

PHRASES: Final = {
    phrase: single
    for line in """
signup = sign up,sign-up
login = log in,sign in,log on,log into,sign into,logging in,logged in
logout = log out,sign out,log off
checkin = check in
checkout = check out
turnon = turn on,switch on
turnoff = turn off,switch off
fulltime = full time
parttime = part time,part timer
optin = opt in
optout = opt out
payin = pay in
takeout = take out
pickup = pick up
dropoff = drop off
setup = set up
phone = mobile phone,cell phone,smart phone
tv = television
ml = machine learning
ai = artificial intelligence
usa = united states of america,united states,the states,the us,the usa
uk = united kingdom,great britain
newyork = new york
losangeles = los angeles
hongkong = hong kong
email = e mail
wifi = wi fi
atm = cash machine,cash point
topup = top up,topping up
openinghours = opening hours,opening times,opening time,business hours,office hours
longhaul = long haul
stepfree = step free
selfemployed = self employed
nodejs = node.js,node js
whynot = why not
orwhether = or not
never = no longer,not any more
instead = rather than,instead of,other than
without = free of
free = for free,free of charge,without charge
include = come with,comes with
contact = get in touch with,reach out to,get hold of
allowed = permitted to
asap = as soon as possible
gdp = gross domestic product
vpn = virtual private network
api = application programming interface
hr = human resources
ceo = chief executive officer
gp = general practitioner
diy = do it yourself
getridof = get rid of,getting rid of,gets rid of
fillin = fill in,fill out,filling in,filling out
""".strip().splitlines()
    for single, phrases in [line.split(" = ")]
    for phrase in phrases.split(",")
}

NOUN_OF: Final = {
    "payment": "pay", "booking": "book", "reservation": "reserve", "cancellation": "cancel",
    "registration": "register", "application": "apply", "activation": "activate",
    "renewal": "renew", "verification": "verify", "installation": "install",
    "removal": "remove", "creation": "create", "deletion": "delete", "replacement": "replace",
    "withdrawal": "withdraw", "complaint": "complain", "enrolment": "enrol",
    "subscription": "subscribe", "upgrade": "upgrade", "refund": "refund", "return": "return",
    "exchange": "exchange", "transfer": "transfer", "deposit": "deposit", "claim": "claim",
    "order": "order", "signup": "signup", "login": "login", "setup": "setup",
    "backup": "backup", "reset": "reset", "update": "update", "checkout": "checkout",
    "export": "export", "import": "import", "delivery": "deliver",
    "request": "request", "change": "change",
}  # fmt: skip
"""A deed's name to its verb: `make a payment` and `payment process` ask how to pay."""
LIGHT: Final = _set("make do place perform file submit request")
"""Verbs that leave the deed to their noun."""
GRANTED: Final = _set("refund reimbursement replacement")
"""Deeds that are got or claimed by the one who asks for them."""
GETTING: Final = _set("get obtain receive claim request")
MEASURES: Final = {
    "tall": "height", "high": "height", "deep": "depth", "wide": "width", "heavy": "weight",
    "far": "distance", "fast": "speed", "big": "size", "large": "size", "old": "age",
    "long": "long", "often": "often", "soon": "long", "many": "count", "much": "much",
}  # fmt: skip
