"""What is true at its moment only: a question about it has another answer tomorrow."""

from __future__ import annotations

import re
from typing import Final

from semantic.wordlist import any_of, listed

_FEASTS: Final = (
    *listed("easter ramadan eid diwali hanukkah passover thanksgiving carnival pentecost"),
    "chinese new year",
    "lunar new year",
    "spring festival",
    "black friday",
    "mother's day",
    "father's day",
)
"""On another day each year."""
_DAYS: Final = (
    *_FEASTS,
    *listed("""
christmas xmas halloween spring summer autumn winter weekend
monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december
"""),
    "new year",
    "valentine's day",
    "holidays",
    "election",
    "olympics",
    "world cup",
    "end of",
)
_FEAST, _DAY = any_of(_FEASTS), any_of(_DAYS)
_TRADED: Final = any_of(
    listed("""
bitcoin btc ethereum ether eth dogecoin litecoin solana crypto gold silver platinum copper oil crude
petrol gasoline diesel fuel gas
""")
)
_PRICE: Final = r"(?:price|value|rate|quote)s?"
_OF: Final = r"(?: an?| one| 1| the)?(?: (?:barrel|ounce|gram|litre|liter|gallon) of)?"
_LASTING: Final = (
    r"(?!.*\b(?:affect|driv|determin|influenc|chang|mov|calculat|mean|work|min(?:e|ing)|made|buy|sell"
    r"|invest|differ)\w*)"
)
"""What a price comes of is another question than what it is."""
ENGLISH: Final = re.compile(
    "|".join(
        (
            r"\b(?:today|tonight|tomorrow|yesterday|now|right now|nowadays|currently|at the moment"
            r"|latest|newest|most recent|up.to.date|breaking|live score|as of|just happened"
            r"|(?:this|next|last|past|coming) (?:week|month|year|morning|afternoon|evening|night"
            r"|weekend|season|quarter|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
            r"|(?:what|which) (?:time|day|date|year) is it"
            r"|current (?:time|date|price|weather|temperature|rate|exchange|president|status|stock"
            r"|score|news|version)"
            r"|the weather|weather (?:in|for|at|like|forecast|report|going)|(?<!\w )weather"
            r"|(?:stock price|exchange rate|share price)s?|news|still (?:open|down|available))\b",
            r"\b(?:how (?:many (?:more )?\w+|long|far|soon|much longer)|days|weeks|months"
            r"|countdown)\b[\w ,']{0,20}?\b(?:until|till|til|to|before|away is|off is)"
            rf" (?:(?:the|next) )*(?:{_DAY})\b",
            r"\bhow (?:many \w+|long|much \w+) (?:is |are )?(?:there )?left (?:in|of) (?:the|this)"
            r" (?:day|week|month|year|quarter|season)\b",
            rf"\bwhen(?:'s| is)(?: the)?(?: next)? (?:{_FEAST})\b",
            rf"^{_LASTING}.*\b(?:{_TRADED}) (?:spot )?{_PRICE}\b",
            rf"^{_LASTING}.*\b{_PRICE} of{_OF} (?:{_TRADED})\b",
            rf"\bhow much (?:is|are|does){_OF} (?:{_TRADED})(?: worth| cost)?(?: per \w+)?\W*$",
            rf"\bwhat (?:is|does){_OF} (?:{_TRADED}) (?:worth|cost|at|trading)\b",
            rf"\b(?:{_TRADED}) (?:in|to) (?:usd|eur|gbp|inr|cny|dollars?|euros?|pounds?|yuan)\b",
        )
    )
)
"""Of texts in lower case."""

_HAN_TRADED: Final = "|".join(
    listed("""
比特币 以太坊 以太币 狗狗币 虚拟币 黄金 白银 原油 汽油 柴油 猪肉 茅台
美元 欧元 日元 英镑 港币 人民币 外汇
""")
)
_HAN_PRICE: Final = "(?:价格|价钱|价位|行情|走势|报价|牌价|多少钱|值多少|兑)"
_HAN_LASTING: Final = "(?!.*(?:影响|决定|形成|计算|怎么[算买卖]|如何|区别|什么意思|是什么))"
_HAN_FEAST: Final = "|".join(
    listed("""
过年 春节 除夕 元宵节? 清明节? 端午节? 中秋节? 国庆节? 元旦 五一 高考 开学 放假 母亲节 父亲节
""")
)
HAN: Final = re.compile(
    "今天|今日|今晚|今早|明天|明日|昨天|昨日|后天|前天|现在|目前|当前|此刻|最新|最近|近期|刚刚"
    "|实时|今年|明年|去年|本周|这周|下周|上周|本月|这个?月|下个?月|上个?月"
    "|几点了|几号了|星期几|天气|股价|汇率|新闻|热搜|比分"
    "|[昨明]晚|[今昨明]夜|明早|[今明]晨|[今昨明]儿|(?<![以之])前[晚年]|(?<![以之今])后年|大[前后]天"
    "|[上下这本]个?(?:星期|礼拜|季度|周末)|这几天|这两天|近日|近几[天日周]"
    "|还[有剩](?:多少|几)(?:天|日|周|个?星期|个?礼拜|个月|个?小时|年)(?!.*(?:可以|能|内))"
    "|[距离].{1,10}还[有剩要](?:多久|多长时间)"
    f"|(?:{_HAN_FEAST})[是在的]?(?:哪一?天|几号|几月|什么时候|何时|放几天|怎么放|安排)"
    f"|什么时候(?:{_HAN_FEAST})"
    f"|^{_HAN_LASTING}.*(?:(?:{_HAN_TRADED})的?(?:实时)?{_HAN_PRICE}|[油币房菜]价"
    "|(?<![奖现基租押定佣资薪])金价(?!值))"
)
"""Of texts in simplified letters."""
