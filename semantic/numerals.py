"""The numbers of a text: one spelling for each, whether in digits, in words or in Chinese."""

from __future__ import annotations

import re
from typing import Final

from semantic.wordlist import listed

_UNITS: Final = {
    word: value
    for value, word in enumerate(
        listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
            "fifteen sixteen seventeen eighteen nineteen"
        )
    )
}
_TENS: Final = {
    word: 10 * value
    for value, word in enumerate(
        listed("twenty thirty forty fifty sixty seventy eighty ninety"), start=2
    )
}
COUNTS: Final = (*_UNITS, *_TENS)
"""English words that a number begins with."""
_ORDINALS: Final = {
    word: value
    for value, word in enumerate(
        listed("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"), start=3
    )
} | {"first": 1, "twice": 2, "dozen": 12}
_MANY: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_LOOSE: Final = ("one", "first")
"""Numbers that are a pronoun or an adverb, too."""
_NO_COUNT: Final = frozenset(listed("which this that no any every each another only the last"))
"""Words before `one` that make it a pronoun."""

_OWNED: Final = frozenset(listed("the my your his her its our their a"))
"""Words between which and a noun `second` is an ordinal."""

_HAN: Final = {han: value for value, han in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_TENS: Final = {"十": 10, "百": 100, "千": 1000}
_HAN_MANY: Final = {"万": 10**4, "亿": 10**8}
# Words in which the numeral counts nothing.
_IDLE: Final = listed(
    "一下 一个 一些 一样 一起 一般 一直 一定 一点 一切 一共 一种 一旦 一边 一会 一并 一致 一方 "
    "一家 "
    "一台 一支 一辆 一座 一棵 一颗 一套 一头 一匹 一枚 "
    "一份 一张 一本 一部 一只 一条 一件 一位 一名 一款 一首 一篇 一段 一封 一场 一键 统一 "
    "唯一 "
    "万一 进一步 哪一 某一 另一 每一 同一 之一 一一 三星 张三 李四 王五 四川 千万 百度 百科 百合 "
    "百货 万能 "
    "万达 九寨 三亚 千米 千克 千瓦 百姓 老百姓 三明治 五金 八卦 七夕 四季 二维码 双十一 十字 三国"
)
_HAN_NUMBER: Final = re.compile(
    f"(?P<idle>(?<!点)十分|(?:周|星期|礼拜)[一二三四五六]|五一|{'|'.join(_IDLE)})"
    r"|百分之(?P<share>[零〇一二两三四五六七八九十百\d.]+)"
    r"|(?P<han>[零〇一二两三四五六七八九十百千万亿]+)(?:点(?P<point>[零〇一二三四五六七八九]+)(?![十分]))?"
)
DIGITS: Final = re.compile(
    r"(?P<date>\d{4}[-/]\d{1,2}[-/]\d{1,2})"
    r"|(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s?(?P<half>[ap])\.?m\b\.?"
    r"|(?P<clock>\d{1,2}:\d\d)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*)"
    r"(?P<scale>\s?k\b|\s?(?:hundred|thousand|million|billion)\b|万|亿|千(?![克米瓦卡])|百)?"
    r"(?P<part>\s?%|\s?per\s?cent\b)?(?:st|nd|rd|th)?"
)
_SCALES: Final = _MANY | _HAN_MANY | {"k": 1000, "千": 1000, "百": 100}
_DAYTIME: Final = re.compile(
    r"(\d{1,2})(?::(\d\d))?(?: o'?clock)? (?:in the (morning|afternoon|evening)|at (night))\b"
)
_HAN_DAYTIME: Final = re.compile(
    r"(?:(凌晨|早上|上午|清晨|早晨|中午|下午|傍晚|晚上|夜里)的?)?(\d{1,2})点(?:(半)"
    r"|(\d{1,2})分?)?(?!\d)"
)
_NOON: Final = 12
_EACH: Final = re.compile(
    r"(?<![\d第])1([天周年]|个月)(?![级代岁周底初末前后内里以之])(?=\D*(?:多少|几))"
)
"""How much one of them takes; neither January nor a first form, and not after it."""
_OFTEN: Final = re.compile(r"(多久[^,。\d]{0,3})1次")
"""Once in how long."""
_AFTERNOON: Final = re.compile(r"(?:下午|傍晚|晚上)的?(\d|1[01])(?=点)")
_LATE: Final = frozenset(("下午", "傍晚", "晚上", "夜里", "afternoon", "evening", "night"))


def spelt(words: list[str]) -> list[str]:
    """Words with each run of English number words as one number in digits."""
    done: list[str] = []
    total = current = 0
    inside = False
    for place, word in enumerate(words):
        value = 2 if word == "second" and _ordinal(words, place) else _value(word)
        if value is None or (word in _LOOSE and not inside and _pronoun(words, place)):
            if inside:
                done.append(str(total + current))
                total = current = 0
                inside = False
            done.append(word)
        elif word in _MANY:
            current = max(current, 1) * value
            if value > 100:
                total, current = total + current, 0
            inside = True
        elif inside and current and not (current % 100 == 0 or (current % 10 == 0 and value < 10)):
            done.append(str(total + current))  # a list of numbers, not one
            total, current = 0, value
        else:
            current, inside = current + value, True
    if inside:
        done.append(str(total + current))
    return done


def arabic(text: str) -> str:
    """A Chinese text with its numerals in digits."""
    return _HAN_NUMBER.sub(_arabic, text)


def counted(text: str) -> str:
    """A Chinese text with its numerals in digits, its hours of the afternoon counted on from noon,
    how much a day takes as how much each day does, and once in how long as no number."""
    late = _AFTERNOON.sub(lambda found: f"{int(found[1]) % _NOON + _NOON}", arabic(text))
    late = _EACH.sub(r"每\1", late)
    return _OFTEN.sub(r"\1一次", late) if "多久" in late else late


def numbers(text: str) -> tuple[str, ...]:
    """The numbers of a text in order; those of English words and Chinese have to be digits."""
    found = [_hours(found) for found in _DAYTIME.finditer(text)]
    if "点" in text:
        found += [_han_hours(found) for found in _HAN_DAYTIME.finditer(text)]
    if found:
        text = _HAN_DAYTIME.sub(" ", _DAYTIME.sub(" ", text))
    return (*found, *(_plain(found) for found in DIGITS.finditer(text)))


def _pronoun(words: list[str], place: int) -> bool:
    """Whether the `one` at a place stands for something said before, or `first` for a time."""
    following = words[place + 1 : place + 2]
    return (place > 0 and words[place - 1] in _NO_COUNT) or not following or following == ["of"]


def _ordinal(words: list[str], place: int) -> bool:
    """Whether a `second` at a place counts things, not time."""
    return 0 < place < len(words) - 1 and words[place - 1] in _OWNED and words[place + 1].isalpha()


def _value(word: str) -> int | None:
    for table in (_UNITS, _TENS, _MANY, _ORDINALS):
        if word in table:
            return table[word]
    return None


def _arabic(found: re.Match[str]) -> str:
    if found["idle"]:
        return found["idle"]
    if found["share"]:
        share = found["share"]
        return f"{share if share[0].isdigit() and share.isascii() else _han(share)}%"
    point = found["point"]
    value = _han(found["han"])
    if value is None:
        return found[0]
    return f"{value}.{''.join(str(_HAN[han]) for han in point)}" if point else value


def _han(text: str) -> str | None:
    """Digits for a Chinese numeral; None: a lone power of ten with nothing to count."""
    if text in _HAN_MANY or text in ("百", "千"):
        return None
    if all(han in _HAN for han in text):
        return "".join(str(_HAN[han]) for han in text)
    total = section = digit = 0
    for han in text:
        if han in _HAN:
            digit = _HAN[han]
        elif han in _HAN_TENS:
            section += (digit or 1) * _HAN_TENS[han]
            digit = 0
        elif han in _HAN_MANY:
            total = (total + section + digit) * _HAN_MANY[han]
            section = digit = 0
        else:
            return None
    return str(total + section + digit)


def _plain(found: re.Match[str]) -> str:
    if found["date"]:
        return "-".join(part.lstrip("0") for part in re.split("[-/]", found["date"]))
    if found["hour"]:
        return _clock(int(found["hour"]), found["minute"], late=found["half"] == "p", sure=True)
    if found["clock"]:
        hour, minute = found["clock"].split(":")
        return _clock(int(hour), minute, late=False, sure=int(hour) > _NOON)
    number = found["number"].replace(",", "")
    if found["scale"]:
        number = (
            f"{float(number) * _SCALES[found['scale'].strip()]:.10g}"
            if (number.count(".") < 2)
            else number
        )
    return f"{number}%" if found["part"] else number


def _hours(found: re.Match[str]) -> str:
    part = found[3] or found[4]
    return _clock(int(found[1]), found[2], late=part in _LATE, sure=True)


def _han_hours(found: re.Match[str]) -> str:
    minute = "30" if found[3] else found[4]
    return _clock(
        int(found[2]),
        minute,
        late=found[1] in _LATE,
        sure=found[1] is not None or int(found[2]) > _NOON,
    )


def _clock(hour: int, minute: str | None, *, late: bool, sure: bool) -> str:
    """24 hours where the half of the day is said."""
    if sure:
        hour = hour % _NOON + _NOON * late if hour <= _NOON else hour
    return f"{hour}:{minute or '00'}{'' if sure else '?'}"
