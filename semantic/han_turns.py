"""Turns of a Chinese question that ask the same, each to the plainest of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from semantic.wordlist import listed

Turned: TypeAlias = str | Callable[[re.Match[str]], str]

_WAY: Final = "方法|步骤|流程|办法|做法|教程|攻略|过程|手续|方式|技巧|窍门|诀窍|途径"
_VERBS: Final = "|".join(
    listed("""
办理 申请 安装 清洗 使用 设置 注册 登录 取消 注销 提取 转移 报销 预约 预订 缴纳 缴费 查询 更换 补办
续签 续费 激活 开通 绑定 解绑 修改 删除 恢复 备份 下载 上传 更新 升级 卸载 连接 配置 制作 保养 维修
修理 拆卸 清理 清洁 保存 退货 换货 退款 理赔 投诉 举报 挂失 充值 提现 转账 贷款 还款 开户 销户 报名
签约 解约 离职 入职 请假 审批 治疗 预防 种植 养殖 训练 练习 学习 计算 安置 搭建 部署 编译 调试 测试
开具 打印 扫描 邮寄 托运 转让 过户 年检 签到 登记 评估 鉴定 录取 转学 休学 借阅 归还 签证 检修
""")
)
"""Deeds of which their way is often asked with the noun behind: 护照办理流程."""
_COUNTED: Final = "个粒只条颗张本件位名份台辆座篇首棵块片门项款部支枚头匹根扇艘架"
"""Classifiers that say no more than the noun behind them."""
_PAPERS: Final = "材料|资料|证件|手续"
_AND: Final = "和|跟|与|同|以及|及|、"
_UNLIKE: Final = "区别|不同之处|不同|差别|差异|不一样"
_RIDES: Final = (
    "高铁|火车|动车|地铁|轻轨|公交|公交车|大巴|飞机|轮船|出租车|打车|船|车(?=到|去|从|要|多)"
)
_TURNS: Final[tuple[tuple[str, Turned], ...]] = (
    # whether: V不V, V不, 么
    (r"([^\W能可是会要该用支想愿需得让准行好])不\1(?=\w)", r"\1"),
    (r"(?<=\w)(?<![是还要会能可得来起了到对好么也都就又从并却偏])不$", "吗"),
    (r"(?<=\w)(?<![什怎这那多要甚])么$", "吗"),
    # how
    (r"怎么作(?!业|文|用)", "怎么做"),
    (r"^怎么样(?=\w)", "怎么"),
    (r"对([^,。]{1,10}?)进行([^\W怎如什]{2})", r"\2\1"),
    (
        r"(?:都?有|用)(?:什么|哪些|啥|何)(?:比较)?(?:好的?|正确的?|简单的?|快速的?)?"
        rf"(?:{_WAY})(?:可以|能|来)?",
        "怎么",
    ),
    (rf"的?(?:正确|最佳|最好|简单|具体|详细)的?(?={_WAY})", "的"),
    (rf"({_WAY})(?:是|有|都有)(?:什么样的?|什么|哪些|啥|怎么?样的?|如何的)$", r"\1"),
    (rf"^(?!(?:{_VERBS})的?(?:{_VERBS}))(?:(.+?)的?)?({_VERBS})的?(?:{_WAY})$", r"怎么\2\1"),
    (
        r"(?:应该|应|该|要|可以|需要)?(?:怎么|怎样|如何|咋)(?:处理|解决|应对|办|弄)"
        r"(?:才好|比较好|为好|好)?$",
        "怎么办",
    ),
    (r"(?<=能|以|么|何|里|儿|哪)找到", "找"),
    (r"都?有些(?=什么|哪些)", "有"),
    (r"截止(?:时间|日期)?(?:到|于|在|是|为)?(?=什么时候|何时|几号|哪天|哪一天|几点)", "截止"),
    # when, how long, how much
    (
        r"的?时间(?:一般|通常|大概)?(?:是|在|为|到)?(?=几点|什么时候|什么时间|何时|啥时候|哪天|哪一天|几号)",
        "",
    ),
    (r"(?:是|在)(?=几点|什么时候|什么时间|何时|啥时候|哪天|几号|多久|多长时间|多少钱)", ""),
    (
        r"(?<=\w\w)(?:期限|期|时长|时间)(?:是|有|为)?(?=多久|多长时间|多长|几天|几个月|几年|多少天)",
        "",
    ),
    (r"得(?=多少|多久|多长|几天|几个月|花)", "要"),
    (r"(?:需要|要)?花(?=多少|多久|多长|几天)", "要"),
    (r"有?几([次种层遍趟盒瓶杯碗包袋箱桶勺斤克米度倍页])(?!月)", r"有多少\1"),
    (rf"有?(?:几|多少)[{_COUNTED}](?!月|小)", "有多少"),
    (r"的?(?:数量|个数|总数)是?(?:多少|几)", "有多少"),
    (r"(?:多大年[龄纪]|多大岁数|多少岁|几岁)", "多大岁数"),
    # what
    (
        rf"^(?:请?说说)?([^,。]{{1,12}}?)(?:{_AND})([^,。]{{1,12}}?)(?:之间|两者|二者)?"
        rf"(?:的|有什么|有哪些|有啥|有何|存在什么|都有什么|有)(?:{_UNLIKE})"
        r"(?:是什么|是啥|在哪里|在哪儿|在哪|在于什么|有哪些|有什么)?$",
        lambda found: f"{'和'.join(sorted((found[1], found[2])))}的区别是什么",
    ),
    (
        rf"(?:需要|要|得)(?:准备|提供|提交|带)?(?:什么|哪些|啥|的)(?:样的)?(?={_PAPERS})",
        "需要什么",
    ),
    (r"^所谓的?(?=.*是什么)", ""),
    # by what, and in what program
    (rf"(?:乘坐|搭乘|坐|乘|搭)(?={_RIDES})", ""),
    (
        r"^([^a-z]*?)(?:使用|利用|通过|用|在)([a-z][a-z0-9.+# -]*?) ?(?:里面|里|中|上|下|内)?"
        r"(?=[^\Wa-z0-9_])",
        r"\2\1",
    ),
    # what is to be written
    (r"^(写|编|画|讲|来|推荐)(?=[首篇段封份][^\W])", r"\1一"),
    (r"^(?:来|给我|想要|要|求)(?=一[首篇段封])", "写"),
)
_RULES: Final[tuple[tuple[re.Pattern[str], Turned], ...]] = tuple(
    (re.compile(form), turned) for form, turned in _TURNS
)


def plain(asked: str) -> str:
    """A question in lower case, simplified letters and digits, in its plainest turn."""
    for form, turned in _RULES:
        asked = form.sub(turned, asked)
    return asked
