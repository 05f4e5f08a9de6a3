"""Which questions may be compared: those that stand alone, and whose answer is for all."""

from __future__ import annotations

import re
from typing import Final

from semantic import moment, personal
from semantic.reading import LONGEST, Reading
from semantic.settings import Settings

_NUMBERS: Final = 2
"""More of them are data, not a question."""
_CODE: Final = re.compile(
    r"```|(?:^|\s)(?:def|class|import|function|const|var|select|insert into"
    r"|#include)\s+[\w*]+\s*[(:{=,;*]"
    r"|[{};]\s*[})]|=>|</?\w+[^<>]*>|\w\(\w*\)\s*[{;:]|[=!]=|&&|\|\||;\s*$"
    r"|\bselect\b.+\bfrom\b.+\bwhere\b"
)
_ADDRESS: Final = re.compile(r"https?://|www\.|[\w.+-]+@[\w-]+\.[\w.-]+")
_DEICTIC: Final = re.compile(
    r"\b(?:the following|(?:shown|listed|given|mentioned|as) (?:above|below)|aforementioned"
    r"|the (?:text|code|passage|"
    r"paragraph|image|picture|sentence|document|article|attachment|above)(?: (?:above|below|here))?"
    r"(?= (?:above|below|is|says|mean)|[?.!]?$)|(?:above|below)(?=[ ?:.!]*$)|here is|here are|"
    r"(?:translate|summari[sz]e|rewrite|rephrase|paraphrase|proofread|continue|correct|fix"
    r"|explain|improve|shorten) "
    r"(?:this|that|it|these|those|the following|the text)\b|"
    r"(?<!\bi )(?<!how to )(?:translate|summari[sz]e|rewrite|rephrase|paraphrase|proofread|continue"
    r"|correct|fix|explain|improve|shorten) my\b|"
    r"(?:say|write|mean by|convert|format|make) (?:it|that|those)\b(?! (?:is|i|we|you|the|a)\b)|"
    r"(?<!like )(?<!at )this (?!year|month|week|morning|afternoon|evening|season|summer|winter"
    r"|time|kind|card|"
    r"app|account|service|way|far)\w+|(?:what|who) (?:is|are|does|do|was) (?:this|that|these"
    r"|those)\b|"
    r"(?:these|those) \w+|(?:the|your) (?:previous|last|earlier) (?:answer|message|question|reply"
    r"|one))"
)
_HAN_DEICTIC: Final = re.compile(
    "这[段句个些篇张首道里种份位本款条部幅组]?(?!样|么|边的?天气|几天|周|个?月|年|次)"
    "|那[段些篇张首道份]|以下|下[面列文](?!条)|如下|上[面述文](?!映)|刚才|之前说"
    "|前面(?:说|提|那)|^(?:请|帮我|麻烦)?(?:把它)?(?:翻译|润色|改写|续写|总结|缩写|扩写)(?:一下"
    "|下|成.{1,4})?[::,,。!]*$|翻译是什么|^它|翻译一下"
    "|(?:(?<![因如彼由从至就为])此|(?<!应)该|(?<![基日版课书根标样剧副成原])本)"
    "(?:文(?![化件档具明])|代码|段|句|图|题|篇|函数|程序|脚本|文档|文章|合同|邮件|网页|链接|视频|截图"
    "|片段)"
    "|^(?!.*(?:怎么|如何|怎样)).*上一?[个条句](?:问题|消息|回答|回复|答案|话)"
)
_LATIN: Final = {
    "address": _ADDRESS,
    "code": _CODE,
    "deictic": _DEICTIC,
    "time": moment.ENGLISH,
    "personal": personal.ENGLISH,
}
_HAN: Final = {
    "address": _ADDRESS,
    "code": _CODE,
    "deictic": _HAN_DEICTIC,
    "time": moment.HAN,
    "personal": personal.HAN,
}
_OWN: Final = frozenset(("my", "our", "mine"))
"""In a text that asks nothing they tell what happened to its writer."""


def ineligible(reading: Reading, ttl: float, settings: Settings) -> str:
    """Why a question is compared with none; empty: it may be. `ttl`: seconds that an answer to it
    would live. Reasons: empty, long, address, code, numbers, deictic, time, personal."""
    if not reading.body:
        return "empty"
    if reading.length > min(settings.max_chars, LONGEST):
        return "long"
    if len(reading.numbers) > _NUMBERS:
        return "numbers"
    patterns = _HAN if reading.language == "zh" else _LATIN
    found = (reason for reason, pattern in patterns.items() if pattern.search(reading.text))
    reasons = (reason for reason in found if _counts(reason, ttl, settings))
    told = "personal" if _told(reading) and _counts("personal", ttl, settings) else ""
    return next(reasons, told)


def _counts(reason: str, ttl: float, settings: Settings) -> bool:
    """Whether the settings let a reason stand."""
    if reason == "time":
        return ttl > settings.volatile_ttl
    return reason != "personal" or not settings.personal


def _told(reading: Reading) -> bool:
    """Whether it asks nothing and speaks of its writer's own."""
    return not reading.question and not _OWN.isdisjoint(reading.words)
