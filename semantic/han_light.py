"""Chinese letters that come and go without changing what is asked, where they do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from semantic.reading import Reading

_ENDED: Final = "$|[,。?!;吗呢么怎多几哪谁为的在要需是有会能可]|如何|什么|流程|步骤|方法|手续|材料"
"""What follows a noun at its end: there, a letter is the noun's last."""
_LIGHT: Final = re.compile(
    # Verbs that help others; behind a noun they end another one: 商会, 电能, 概要.
    r"(?:会(?![员议计客场长费展所标诊话面合])|[能可应该去给]|得(?![分奖票主])|来(?![电源信访历]))"
    rf"(?!{_ENDED})"
    # How a deed comes out, where it changes no deed.
    r"|(?<=[带装穿戴贴关锁盖插接连加登坐搭])上(?=[^\W下面午周月半])|[掉到](?!期)"
    r"|弄(?=[丢坏脏湿断错])|(?<=[堵卡锁粘塞困压])住"
    r"|[很太挺](?![空阳极平])|还(?=[能可会要有是需得用])|(?:^|(?<=[能以么何样想要会可]))使?用"
    r"|得(?=了)|需(?!求)|想(?![吐哭睡死家法象念])|(?<=号)码|们|[呢啊呀吧地]"
    # What befalls a thing is said either way; of one that acts, 被 says that it is acted on.
    r"|(?:(?<=[账帐]户)|(?<=[^\W人员者生师友客户主家司方孩子狗猫我你他她们工板娘爸妈童]))"
    r"被(?![子套褥])"
    r"|(?<!么)时候|的话|如果"
    r"|(?<![小课工学临及平按准])时(?=[能可要怎如该会需应多为])"
)


def light(words: list[str], text: str) -> bool:
    """Whether each of some words of a text says nothing there."""
    if not words:
        return True
    idle = _idle(text)
    return all(word in idle for word in words)


def weighty(reading: Reading) -> tuple[str, ...]:
    """The content of a Chinese question without what says nothing there."""
    idle = _idle(reading.text)
    return tuple(word for word in reading.content if word not in idle)


def _idle(text: str) -> frozenset[str]:
    found = frozenset("".join(_LIGHT.findall(text)))
    return found | {"使用"} if "用" in found else found
