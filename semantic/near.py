"""Words that ask nearly the same: exchanged for each other, all else being the same and the texts
being near, they change no answer."""

from __future__ import annotations

from typing import Final

from semantic.stems import topic
from semantic.wordlist import entries, listed

_ENGLISH: Final = """
raise increase boost
lower reduce decrease
improve enhance
delete remove eliminate getridof
order request
cancel end stop terminate
fix repair resolve correct
find locate
view see
make create build
make prepare
explain describe
symptom sign
cause reason
method way technique
benefit advantage
drawback disadvantage
difference distinction
term word
keep store preserve
speak talk
prevent avoid
rule regulation
size dimension
salary wage pay
company firm
trip journey travel
meal dish
easy simple
hard difficult
cheap inexpensive affordable
expensive costly
important essential
safe secure
entire whole
enough sufficient
calculate compute determine
modify edit change
link connect
merge combine
split divide
recover restore retrieve
learn study
grow cultivate
occur happen
pain ache
stomach tummy belly
bug insect
fee charge
place location
kind type
amount quantity
average typical
site website
password passcode
finish complete
fillin complete
consult see
get obtain
choose select
normal usual
required mandatory
job occupation profession
hurt ache
"""
_HAN: Final = """
提高 增加 加大
降低 减少 减小
维修 修理 修复 修
加热 热
中断 断
恢复 复原 还原
办理 申请
吃 服 服用
煮 做 烧
挑 挑选 选择 选
看 查看
说明 解释
原因 缘故
方法 办法 方式
材料 证件 资料 文件
数据 资料
租金 房租
费 费用
存放 保存 储存
清洗 洗 清洁
去除 去掉 清除 除掉
成为 当上 当
赔偿 赔
寄 邮寄 快递
预防 防止
症状 表现
好处 作用
结果 后果
位于 在
举行 举办
价位 价格
时长 时间
总共 一共
转 转换 转成
合并 合成
"""


def _sets(text: str, of: str) -> dict[str, frozenset[tuple[str, int]]]:
    found: dict[str, set[tuple[str, int]]] = {}
    for number, words in enumerate(entries(text)):
        for word in listed(words):
            found.setdefault(topic(word) if of == "en" else word, set()).add((of, number))
    return {word: frozenset(sets) for word, sets in found.items()}


_SETS: Final = _sets(_ENGLISH, "en") | _sets(_HAN, "zh")
HAN_WORDS: Final = frozenset(listed(_HAN))
_NONE: Final[frozenset[tuple[str, int]]] = frozenset()


def near(one: str, other: str) -> bool:
    """Whether two words, as topics, are in one set."""
    return not _SETS.get(one, _NONE).isdisjoint(_SETS.get(other, _NONE))
