"""How English questions open: what is said to the listener, then the words that make the type."""

from __future__ import annotations

import re
from typing import Final

from semantic.wordlist import listed

GREETING: Final = re.compile(
    r"(?:(?:hi|hello|hey|hiya|yo|dear(?: \w+){1,3}(?=,)|dear|good (?:morning|afternoon|evening|day)"
    r"|morning|evening|greetings)"
    r"(?: (?:there|all|team|everyone|folks|guys|sir|madam|both|again))*[ ,.!:-]+)+"
)
THANKS: Final = re.compile(
    r"(?:[ ,.!?-]*[,.!?-] ?(?:if (?:that is|it is|that's|it's|you do not|you don't|possible)"
    r"(?: (?:ok|okay|alright|possible|mind))?|if you know|do you know|any ideas?|please help|help"
    r"|(?:can|could) (?:you|anyone|someone|somebody) (?:please )?help(?: me)?(?: out)?"
    r"|please advise|any help (?:is|would be) (?:much )?appreciated|much appreciated|just wondering"
    r"|just curious)"
    r"|[ ,.!?-]*\bplease (?:help|advise)"
    r"|[ ,.!?-]*\b(?:(?:many |lots of )?(?:thanks|thank you|cheers)|ta|(?:kind |best )?regards)"
    r"(?: (?:in advance|a lot|so much|very much|again|for your help))?)++[ .!,?]*$"
)
"""Of texts in lower case, at their end; possessive, or many thanks would take for ever."""
_WRITING: Final = (
    r"(?:explain|list|write|describe|give|summari[sz]e|define|create|generate|compare|suggest"
    r"|recommend|convert|calculate|translate|draft|compose|rewrite|name|solve|outline)\b"
)
"""What a model is asked to do: to be asked whether it can is to be asked for it."""
LEAD: Final = re.compile(
    r"(?:(?:(?:(?:could|can|would|will) you )?(?:walk|talk|guide|take) (?:me|us) through(?= how\b)"
    r"|(?:does|do) (?:anyone|anybody|someone|somebody|you guys|any of you)(?: here)? know"
    r"|would you (?:happen to|by any chance) know|do you by any chance know|(?:may|might) i know"
    r"|(?:just )?out of curiosity|(?:i have )?got a (?:quick )?question(?: for you)?|i have a "
    r"(?:quick )?question (?:about|on|regarding)(?= (?:how|what|where|when|why|who|which)\b)"
    r"|i am (?:just )?(?:trying|looking) to (?:find out|figure out|work out|understand|learn|know)"
    r"|i (?:can not|could not) (?:find out|figure out|work out)|(?:can|could) you help me "
    r"(?:to )?(?:understand|figure out|find out)|help me (?:to )?(?:understand|figure out|find out)"
    r"|i (?:want|would like|need|would love) to (?:learn|understand|find out|ask)"
    r"|(?:please )?teach me(?= how\b)|(?:can|could|would|will) you (?:please )?let (?:me|us) know"
    r"|please advise|any (?:tips|advice|pointers|guidance) on(?= how\b)|(?:i am )?new here"
    r"|sorry if this (?:is|was|has been) [\w ]{1,30}?(?= ?[,.])|if you do not mind|by the way"
    r"|so|well|but|and|sorry(?: (?:to bother|to trouble|for bothering) you)?|excuse me|yes"
    r"|right"
    r"|now|(?:just )?(?:a )?quick (?:question|one|1)|just|i have (?:got )?a (?:quick )?question"
    r"|question"
    r"|(?:i )?hope you are (?:doing )?well|i need (?:some )?help|like(?= ,)"
    r"|you know(?: what)?(?= ,)"
    r"|(?:can|could) you help(?: me)?(?: with this)?(?= [,.?!])|any chance you (?:can"
    r"|could) tell me"
    r"|apologies(?: if this is \w+)?|(?:i am )?not sure if this is the right place"
    r"|good (?:morning|afternoon|evening|day)|for your help|help(?! (?:me|us)\b)|(?:may|can"
    r"|could) i (?:just )?ask|let me know"
    r"|(?:can|could|would|will) you (?:just )?(?:tell|show|advise|explain to|inform|remind|help)"
    r" (?:me|us)(?: with| on| about| out)?|tell me|(?:help|show) me (?=how)"
    rf"|(?:can|could|would|will) you(?= {_WRITING})|help (?:me|us)(?: to)?(?= {_WRITING})"
    rf"|(?:i would (?:be grateful|appreciate it) if you (?:could|would)"
    rf"|i (?:would like|want|need) you to)(?= {_WRITING})"
    r"|would you mind (?:telling|showing|explaining to) (?:me|us)"
    r"|basically|honestly|anyway"
    r"|(?:explain|describe)(?: to (?:me|us))?(?= (?:how|why|what|when|where|which|who)\b)"
    r"|(?:can|could) (?:someone|anyone|anybody|somebody) (?:tell|show|help|explain)(?: to)?(?: me)?"
    r"|(?:i (?:was|am|have been) )?(?:just )?(?:wondering|curious)(?: if you (?:can"
    r"|could) tell me)?"
    rf"|(?:i was |i am )?(?:just )?wondering if you (?:can|could|would)(?= {_WRITING})"
    r"|i (?:just |only |really )?(?:want|need) to know|i have (?:always|often) wondered"
    r"|i wonder|i (?:would|will) (?:like|love|want|need) to know|i (?:want|need|wish) to know"
    r"|i (?:do not|am not sure|have no idea)(?: know)?(?= (?:how|what|where|when|why))"
    r"|do you (?:know|happen to know)|(?:do you have|is there) any idea|any idea"
    r"|(?:team|there|all|everyone|guys|folks|sir|madam|morning|afternoon|evening)(?= [,!.])"
    r"|is it ok if i ask)\b(?: ?[,!.:?]+)? ?)+(?=\w)"
)
"""Said before the question, and no part of it."""

_WHO: Final = (
    r"(?: (?:i|we|one|someone|you(?!.*\b(?:my|me|our|us|your)\b))"
    r"|(?! (?:the|my|your|an?|this|these|those|it|they|he|she|people|that|our|his|her"
    r"|\w+[^s\W]s)\b))"
    r"(?: actually| just| best| properly| correctly)?"
)
"""The subject that stands for all; `how do you check my identity` asks of the one spoken to."""
_GO: Final = r"(?: (?:go about|need to go about|be able to|manage to))?"
_BEST: Final = r"(?:best |right |correct |easiest |fastest |proper |quickest |simplest |usual )?"

_KINDS: Final = {
    "long": (
        r"how long (?=do|does|will|is|until|before|for|it|can|did|after|would|should)"
        r"|how many (?:days|hours|weeks|minutes) |how soon |how quickly "
        r"|what is the (?:duration|length) of "
    ),
    "price": (
        r"(?:how much (?:(?:does|do|will|would|did) (?:it|this) cost(?: me| us)?(?: to)?"
        r"|(?:do|does|will|would|did|should|must) (?:(?:i|we|one) (?:(?:have|need) to )?"
        r"|you (?:have|need) to )(?:pay|spend)(?: (?:for|to|on))?|(?=.*\bcosts? ?$)"
        r"|(?:does|do|will|would|did)(?= .*cost)|(?:is|are|for)\b)"
        r"|what (?:does|do|will|would) (?:it cost(?: me| us)?(?: to)?|(?=.*cost))"
        r"|(?:what|how much) (?:do|does|would|will) (?:you|they|it) charge(?: me| us)?(?: for| to)?"
        r"|what (?:is|are|would be) the (?:(?:price|cost)s?(?: of| for| to)?|(?:fee"
        r"|charge)s? (?:for|to))"
        r"|(?:price|cost) (?:of|for|to) ) ?"
    ),
    "how": (
        r"how (?:i|we|one)(?: can| could| should| would| may| might)? "
        rf"|how (?:to|(?:do|can|could|should|would|might|shall){_WHO}){_GO} "
        rf"|(?:is|are) there (?:a|any|some) {_BEST}(?:ways?|method)(?: for (?:me|us))?(?: to| of)? "
        rf"|what (?:is|are|would be) (?:the|a) {_BEST}"
        r"(?:ways?|process|procedure|steps?|method|instructions?)"
        r"(?: (?:of|to|for|in))(?: (?:to|i|take to))? "
        r"|what (?:steps|do|should|must)(?: (?:do|should|must))? (?:i|we) "
        r"(?:(?:need|have) to )?(?:take|do) to "
        rf"|(?:the |an? )?{_BEST}(?:steps|ways?|method|guide|instructions|directions|process"
        r"|procedure|tutorial) (?:to|for|of|on)(?: how to)? "
    ),
    "todo": (
        r"what (?:should|can|do|must|shall|could) (?:i|we|you)(?: (?:need|have) to)? "
        r"do(?: if| when| about)? "
    ),
    "why": (
        r"(?:why|how come|for what reason|what is the (?:reason|cause)(?: for| of| that| why)?"
        r"|reasons? (?:for|why)|what (?:makes|causes))\b ?"
    ),
    "when": (
        r"(?:when|what is(?= the (?:deadline|due date"
        r"|(?:best|right|ideal|optimal|good|latest|earliest) time (?:to|for|of year))\b)"
        r"|(?:at |from |until )?what (?:time|date|day))\b ?"
    ),
    "where": r"(?:where|(?:in |at |to )?(?:what|which) (?:place|location))\b ?",
    "who": (
        r"(?:who|whose|whom)\b ?|(?:what|which) (?:country|team|person|player|company|man|woman) "
        r"(?!is|are|do|does|can|should|will|has|have)"
    ),
    "measure": r"how (?:tall|high|deep|wide|heavy|far|fast|big|large|old|often|many|much)\b ?",
    "quantity": r"what is the (?:height|depth|width|weight|age|distance|speed|size)\b(?: of)? ?",
    "count": r"(?:what is )?(?:the )?(?:total )?number of (?!the|my|your|this|that) ?",
    "what": (
        r"(?:what|which) (?:city|town|person|one|kind|type) (?:is|are) "
        r"|(?:what (?:is|are) (?:meant by|the (?:meaning|definition) of)|what do you mean by"
        r"|(?:what|which)(?: (?:kinds?|sorts?|types?) of)?|define|explain(?: to me)?"
        r"(?: (?:what|the (?:concept|meaning|idea|notion) of))?|describe|meaning of"
        r"|(?:give (?:a|the) )?definition of)\b ?"
    ),
    "manner": r"how\b ?",
    "can": (
        r"(?:(?:can|could|may)(?: not)? (?:i|we|you|one|someone)"
        r"|is it (?:(?:possible|allowed|permitted|fine|alright)(?: for (?:me|us))?(?: to)?"
        r"|to|if (?:i|we))|would it be (?:possible|fine|alright) to|(?:will|would) (?:i|we) be "
        r"(?:able|allowed|permitted) to"
        r"|can|could|may) "
    ),
    "must": (
        r"(?:do|does) (?:\w+ )?(?:(?:need|have) to|need) |must (?:i|we)? ?"
        r"|is it (?:necessary|required|mandatory|compulsory)(?: for me)?(?: to)? "
    ),
    "should": r"(?:should|shall|ought)(?: (?:i|we))? |is it (?:better|advisable|wise) to ",
    "will": r"(?:will|would)(?: (?:i|we|you|it))? ",
    "there": (
        r"(?:do|does) you (?:have|offer|sell|provide|stock|carry|do)(?: any| a| an)? "
        r"|(?:is|are) there(?: any| a| an| some)? |have you got(?: any| a)? "
    ),
    "did": r"(?:did|was|were|has|have|had) ",
    "is": r"(?:do|does|is|are|am) ",
}
"""In the order in which they are tried: the special before the general."""
OPENING: Final = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _KINDS.items()))
"""The name of the group that fits is the type."""
WHETHER: Final = frozenset(listed("can must should will there did is"))
"""Types that are answered by yes or no."""
MEANING: Final = re.compile(r"(.+?) (?:definition|meaning)$")
"""A topic with a noun that asks what it is."""
PRICE: Final = re.compile(r"((?!the\b)(?:\w+ ){0,4}\w+) (?:price|cost)s?$")
"""A thing with the noun that asks what it costs."""
PROCESS: Final = re.compile(
    r"(.+?) (?:process|procedure|steps|instructions|guide|tutorial|how to)$"
)
"""A topic with a noun that asks how."""
