"""What its asker alone has, did or suffers: a question about it has no answer for all."""

from __future__ import annotations

import re
from typing import Final

from semantic.wordlist import listed

_THINGS: Final = "|".join(
    listed("""
account accounts address age application applications appointment appointments balance basket bill
bills birthday booking bookings calendar card cards cart cash cheque cheques claim claims code
contract deliver(?:y|ies) deposit deposits email emails file files flight funds grade grades history
identity id inbox invoice invoices loan location message messages money mortgage name order orders
package packages parcel parcels payment payments payslip phone pin points prescription purchase
purchases refund refunds reservation reservations result results salary schedule score shipment
shipments statement statements subscription ticket tickets top.?ups? transaction transactions
transfer transfers wallet wish.?list withdrawal withdrawals
""")
)
_MINE: Final = rf"(?:\w+ ){{0,3}}?my (?:\w+ ){{0,2}}?(?:{_THINGS})\b"
_BE: Final = r"(?:is|are|was|were|has|have|had|did|isn't|aren't|wasn't|hasn't|haven't|didn't)"
_DONE: Final = (
    r"(?:lost|ordered|paid|bought|received|transferred|tried|made|got|sent|was|haven't|didn't"
    r"|can't|cannot)"
)
_NO_HOW: Final = r"^(?!.*\bhow (?:do|can|could|should|would|to)\b)"
ENGLISH: Final = re.compile(
    "|".join(
        (
            rf"\b(?:where|what|when|who|how much)(?:'s| {_BE}| will| does| do i have) {_MINE}",
            rf"\bwhy (?:am|won't|couldn't|can't|{_BE}) (?:i|my|we|our)\b(?! have to| need to)",
            rf"(?:^|[,.;:?!] ){_BE} {_MINE}",
            r"^my (?:\w+ ){0,3}?\w+ (?:won't|still|keeps?|got|doesn't|" + _BE + r")\b",
            r"^(?:please |can you |could you |help me )*(?:check|track|show|find|look up|cancel"
            r"|refund|return|unblock|block|activate|close|delete|freeze|update|change|send|tell)"
            r" (?:me )?(?:\w+ ){0,2}?my\b",
            r"\bi(?:'ve| have|'m| am) (?:not |never |still |just |already |been |waiting)",
            rf"\bi(?:'ve| have)? {_DONE}\b",
            r"\b(?:do|am|did|have|was|will|should|would) i (?:still )?"
            r"(?:owe|qualify|eligible|entitled|due|charged|get paid)\b",
            r"\b(?:what(?:'s| is| are| was)|how (?:much|many)(?: \w+){1,2} (?:is|are)(?: there)?)"
            r"(?: currently| still)? (?:in|on|inside|left (?:in|on)) (?:my|our)\b",
            r"(?:^|[,.;:!?] |\b(?:so|and) )(?:can|could|did|will) i (?:still |ever |please )?"
            rf"(?:get|have|receive|see) (?:back )?my (?:\w+ ){{0,2}}?(?:{_THINGS})"
            r"(?= ?[?.!,]|(?: (?:back|now|please))*\W*$)",
            r"\b(?:what|which|when|where|why|how)(?: \w+){0,3} did i\b",
            rf"{_NO_HOW}.*\bmy (?:last|latest|previous|earlier|most recent|recent) (?!name)\w+",
            rf"{_NO_HOW}.*\bmy (?:very )?first (?:question|message|answer|request)\b",
            r"\bwhat did we (?:talk|speak|discuss|say|agree)",
            r"\bwhat i (?:just )?(?:said|asked(?! for)|told|wrote)",
            r"\b(?:do|can|did) you (?:still )?remember (?:me|my|what|when|where|who|our|us)\b",
            r"\b(?:near|close to|around) (?:me|us)\b",
            r"\bhow (?:much|many) (?!time|days|hours|weeks|months)(?:\w+ ){1,3}do i (?:still )?"
            r"have\b(?! to)",
            r"\border (?:number |no\.? |id )?#?\d{4,}",
            r"\b(?:who am i|remind me|remember me|remember that i)\b",
        )
    )
)
"""Of texts in lower case. How to do a thing is for all, be it done with `my` password."""

_HAN_THINGS: Final = "|".join(
    listed("""
订单 快递 包裹 账户余额 余额 账单 积分 申请 退款 工资 报销单 预约 成绩 会员 钱 货 物流 保单 名字
生日 位置 年龄 地址 行程 航班 贷款 额度 银行卡 卡 密码 账号 手机 电脑 购物车 收藏夹 优惠券 钱包 流量
话费 网费 水费 电费 课表 日程 排名 征信 欠款 押金 定金
""")
)
_HAN_I: Final = "(?:我|俺|咱|本人|鄙人|我司)们?"
_HAN_HOW: Final = (
    rf"^(?!.*(?:怎么|如何|怎样)(?!还|没|不|回事|少|多了|变|被|会|又|老是|总|一直|突然|{_HAN_I}的))"
)
"""No question how, unless it is a complaint."""
HAN: Final = re.compile(
    rf"{_HAN_HOW}.*{_HAN_I}家?的?(?:这个?)?(?:{_HAN_THINGS})"
    rf"|{_HAN_I}(?:已经|还没|没有?|刚|昨[天晚]|今[天早晚]|买了|付了|下了|充了|是谁|叫什么|多大|在哪"
    r"|之前|上次|上一)"
    rf"|{_HAN_I}(?:一共|总共)?还?(?:欠|剩|差|有|花|用)[下了着]?(?:[你他]们?)?(?:多少|几)"
    r"|订单号?\d{4,}|提醒我|(?:帮我|给我)查(?!一?下)"
)
