"""How Chinese questions open and end: what is said to the listener, and is no part of them."""

from __future__ import annotations

import re
from typing import Final

from semantic.han import POLITE, THANKS
from semantic.wordlist import any_of

_MAY: Final = "(?:(?:你|您)?(?:能不能|可不可以|能否|可否|可以|能)(?:请|麻烦)?(?:你|您)?)"
_WONDER: Final = "我?[就只还也]?是?想要?来?(?:问问|问|知道|了解|请教|咨询|打听)(?:一下|下|你们|您)*"
"""To wonder is to ask."""
_GREETED: Final = r"[^\W\d对]{0,3}(?:您好|你好)(?=[,,!!。])"
"""Whoever is greeted: 医生您好."""
_ASKED: Final = (
    f"(?:请问)?{_MAY}(?:给我|帮我|替我|为我|帮忙)"
    "(?=写|推荐|翻译|解释|介绍|列|总结|概括|生成|起草|拟|编|设计|讲|改写|润色|检查|分析|比较|计算|举)"
)
"""Whether a model can write it is no question: it is asked for it."""
_GIVEN: Final = "(?:请)?给我(?=写[一首篇个封段份点关]|讲|推荐|介绍|解释|列|翻译)"
_HANDED: Final = "(?:请|麻烦)?(?:给我|给|发我|来|求)一?[份个张篇](?![人月星天])"
_TAUGHT: Final = f"{_MAY}?(?:请)?(?:教教|教)(?:一下|下)?(?:我|大家)(?:一下|下)?(?=怎么|如何|怎样)"
_TOLD: Final = (
    f"(?:{_MAY}|给我|帮我|为我|简单|详细|通俗){{1,3}}(?:地|的)?"
    "(?=(?:解释|说明|介绍|讲解|科普)(?:一下|下|什么|.*吗)|说说|讲讲|说一下|讲一下)"
)
"""To be asked whether one can explain it is to be asked to."""
_EXPLAINED: Final = "(?:解释|说明|介绍|讲解)(?:一下|下)?(?=什么是|怎么|如何|为什么)"
_FIND: Final = "(?:想|要|帮我|给我|我)*查(?:一下|下|一查)(?=.*(?:什么|怎么|哪|多少|多久|几|吗))"
"""To look for an answer is to ask."""
_KNOWN_TO: Final = "(?:有没有人|有没有谁|有人|有谁|谁|哪位)(?:知道|懂得?|了解|清楚)(?:的吗|吗)?"
_BEGGED: Final = "跪?求(?=.{2,20}(?:方法|步骤|教程|流程|攻略|做法|办法)$)"
_AFRAID: Final = (
    "(?:急+|在线等|新手|小白|萌新|新人|菜鸟|不太懂|不懂就问|不太清楚|打扰了?)(?=[,,!!。:: ])"
    "|(?:新手|小白|萌新|新人|菜鸟)(?:求问|求教|提问|求助|请教|想问)(?:一下|下)?"
)
LEAD: Final = re.compile(
    f"(?:(?:{_WONDER}|{_GREETED}|{_ASKED}|{_GIVEN}|{_HANDED}|{_TAUGHT}|{_TOLD}|{_EXPLAINED}|{_FIND}|{_KNOWN_TO}|{_BEGGED}"
    f"|{_AFRAID}|{any_of(POLITE)})(?!假|客|求|们|年|是说|题|决)"
    "[,,。!!??、::~ 哈啊呀]*)+"
)
"""Said before the question."""
TAIL: Final = re.compile(f"(?:[,,。!!??、~. ]|{any_of(THANKS)})+$")
"""Said after it."""
