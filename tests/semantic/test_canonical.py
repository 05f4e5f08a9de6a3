"""Equal keys for ways of asking one thing, other keys for anything else."""

from __future__ import annotations

import pytest

from semantic.canonical import question
from semantic.settings import Terms
from tests.semantic.texts import reading


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How often should I water figs", "How often do figs need watering"),
        ("Merge two dicts in Python", "Merge two dictionaries in Python"),
        ("How should a kettle be descaled", "How do I descale a kettle"),
        ("how do I get a refund", "refund process"),
        ("How can I get a refund?", "what are the steps to get a refund"),
        ("how do I reset my password", "What is the best way to reset my password?"),
        (
            "How do I reset my password",
            "Hi, could you please tell me how to reset my password? Thanks",
        ),
        ("How much is a visa?", "What does a visa cost?"),
        ("What's the price of a visa", "how much does a visa cost"),
        ("Who wrote Hamlet?", "Who is the author of Hamlet"),
        ("What is recursion in code", "Explain what recursion in code is".removesuffix(" is")),
        ("On my laptop, how do I take a screenshot", "How do I take a screenshot on my laptop?"),
        ("When does the library open?", "What time does the library open"),
        ("Why was my card declined", "How come my card was declined"),
        ("Can I bring a dog", "Is it possible to bring a dog"),
        ("WHAT ARE YOUR OPENING HOURS", "When are you open?"),
        ("How tall is Mont Blanc", "What is the height of Mont Blanc?"),
        ("怎么退货", "退货流程"),
        ("怎么退货", "请问一下,如何退货呢?"),
        ("会议室怎么预订", "预订会议室的方法"),
        ("怎麼退貨", "怎么退货"),
        ("信用卡怎么还款", "信用卡该如何还款?谢谢"),
        ("为什么付款失败", "付款失败是什么原因"),
        ("能不能开发票", "可以开发票吗"),
        ("护照多少钱", "护照的价格是多少"),
        ("如何在Linux中创建用户", "Linux怎么新建用户"),
        ("三年级的数学题怎么做", "3年级数学题怎么做"),
        ("什么是区块链技术", "请解释一下区块链技术的概念"),
        (
            "When a lodger leaves, what happens to the bond",
            "What happens to the bond when a lodger leaves",
        ),
        ("Write a limerick about rain", "Could you write me a limerick about rain, please?"),
        ("Draft a memo on leave", "I would be grateful if you could draft a memo on leave"),
        ("Translate a menu into Thai", "Please help me translate a menu into Thai"),
        ("How do I descale a kettle", "So, basically, how exactly do I descale a kettle?"),
        ("How do I descale a kettle", "Would you mind telling me how to descale a kettle?"),
        ("How does a pension fund work", "Explain to me how a pension fund works"),
        ("What is entropy", "entropy definition"),
        ("What is entropy", "Could you explain entropy to me, please?"),
        ("When is the best time to prune figs", "What's the best time to prune figs"),
        ("How often should I water figs", "How often do I need to water figs"),
        ("How do bees make wax", "I'd like to know how bees make wax"),
        ("How do I prune a fig", "I want to prune a fig, how?"),
        ("How do I prune a fig", "Walk me through how to prune a fig"),
        ("How do I prune a fig", "Pruning a fig: how?"),
        ("How do I prune a fig", "Got a question. How does one prune a fig?"),
        ("How do I prune a fig", "What is the right way of pruning a fig, if you know?"),
        ("Who painted Guernica", "Who was the painter of Guernica"),
        ("Who invented the zip", "Who was the zip invented by"),
        ("Can I bring figs on board", "Would it be possible to bring figs on board"),
        ("Can I bring figs on board", "Could you tell me whether I can bring figs on board"),
        ("How long is the lease on a flat", "How long does the lease on a flat last"),
        ("How many keys are on a piano", "number of keys on a piano"),
        ("The gap between a will and a trust", "gap between a will and a trust"),
        ("How much is a fig tree", "fig tree price"),
        ("How much do I pay for a fig tree", "How much do you have to pay for a fig tree"),
        ("Which is the fastest train to Kyiv", "Which is the quickest train to Kyiv"),
        ("How do I reset a modem", "Dear service desk, how do I reset a modem?"),
        ("What is a monad in code", "Give me a definition of a monad in code"),
        ("What is net worth", "net worth definition"),
        ("婚假有几天", "婚假是多少天"),
        ("怎么和房东谈租金", "怎么和房东谈租金比较好"),
        ("起草一份劳动协议", "能不能帮我起草一份劳动协议吗"),
        ("推荐几部老电影", "您可以给我推荐几部老电影吗?"),
        ("怎么补办社保卡", "我也想打听一下怎么补办社保卡"),
        ("感冒能跑步吗", "医生您好,感冒能跑步吗"),
        ("Figma里如何画箭头", "如何在Figma里画箭头"),
        ("要预约吗", "需不需要预约"),
        ("什么是期权", "甚麼是期權"),
        ("机票贬值赔偿怎么计算", "機票貶值賠償怎麼計算"),
        ("怎么把表格转成图片", "怎么将表格转成图片"),
        ("将照片导出到电脑的步骤", "把照片导出到电脑的步骤"),
        ("怎么晒衣物", "新手求问:怎么晒衣服?在线等"),
        ("怎么晒衣服", "能不能教教我怎么晒衣服"),
        ("怎么晒衣服", "有没有人知道怎么晒衣服"),
        ("怎么晒衣服", "跪求晒衣服的方法"),
        ("怎么晒衣服", "怎么样晒衣服"),
        ("怎么晒衣服", "晒衣服有哪些步骤"),
        ("展馆周一开门吗", "请问展馆周一开不开门"),
        ("展馆周一开门吗", "展馆周一是不是开门"),
        ("公共汽车几点收车", "我想查一下公交车几点收车"),
        ("什么是熵增定律", "能解释一下熵增定律吗"),
        ("什么是熵增定律", "请说明一下什么是熵增定律"),
        ("缎面和绒面有什么区别", "绒面与缎面的区别是什么"),
        ("木星有几颗卫星", "木星一共有多少颗卫星"),
        ("支持花呗付款吗", "可以用花呗付款吗"),
        ("补领结婚证要带什么证件", "补领结婚证需要什么证件"),
        ("租期多久", "租期是多长时间"),
        ("停车1个月多少钱", "停车每个月多少钱"),
        ("停车一天多少钱", "停车每天多少钱"),
        ("展会是下午3点开始吗", "展会是15点开始吗"),
        ("面条煮几分钟能熟", "面条要煮几分钟才熟"),
        ("考驾照的年龄是多少", "考驾照年龄是几岁"),
        ("表格填错了怎么改", "表格写错了如何修改"),
        ("退机票收不收手续费", "退机票要手续费吗"),
        ("物业费谁来付", "物业费由谁承担"),
        ("办居住证要带什么材料", "居住证需要什么材料"),
        ("想把头像换掉,怎么弄", "怎么把头像换掉"),
        ("晚上睡不着怎么办", "晚上失眠怎么办"),
        ("不记得口令了怎么办", "忘记口令了怎么办"),
        ("阳台漏水,有什么法子", "阳台漏水怎么办"),
        ("撤销提交用什么命令", "怎么撤销提交"),
        ("滤芯多久换一次", "滤芯更换频率"),
        ("会员会自己续费吗", "会员会自动续费吗"),
        ("孩子烧到39度怎么办", "孩子发烧39度怎么办"),
        ("贷款能退全款吗", "贷款能全额退款吗"),
        ("酸奶贵不贵", "酸奶贵吗"),
        ("蛋怎么煮", "鸡蛋怎么煮"),
        ("挂号一般要多久", "挂号要多久"),
    ],
)
def test_one_question(one: str, other: str) -> None:
    key = question(reading(one))

    assert key is not None
    assert key == question(reading(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I wash customs papers", "How do I wash custom papers"),
        ("Where do I buy glasses in Graz", "Where do I buy glass in Graz"),
        ("Where do I buy a laptop", "Where do I buy a notebook"),
        ("how do I get a refund", "how do I avoid a refund"),
        ("how do I get a refund", "how do I get an exchange"),
        ("how do I get a refund", "how do I not get a refund"),
        ("how do I get a refund", "how do I get 2 refunds"),
        ("how do I get a refund in Paris", "how do I get a refund in Berlin"),
        ("how do I get a refund", "怎么退款"),
        ("how do I get a refund", "why do I get a refund"),
        ("How much do you pay for used books", "How much do I pay for used books"),
        ("Is sleep best", "Is sleep"),
        ("Can you ship a sofa to Malta", "Ship a sofa to Malta"),
        ("Explain how tax works", "Explain why tax works"),
        ("The quickest way home", "A quick way home"),
        ("能帮我退货吗", "退货"),
        ("三亚一月气温多少", "三亚每月气温多少"),
        ("一年级有几门课", "每年级有几门课"),
        ("一周后能领多少钱", "每周后能领多少钱"),
        ("我想问问题", "我想问"),
        ("我对你好,有什么用", "你好,有什么用"),
        ("API密钥在哪", "API开门在哪"),
        ("怎么退货", "怎么换货"),
        ("怎么退货", "不能退货吗"),
        ("怎么退2件货", "怎么退3件货"),
        ("北京怎么退货", "上海怎么退货"),
        ("怎么退货", "退货多少钱"),
        ("Your definition of success", "The definition of success"),
        ("What is engineering management", "What is an engineer management"),
        ("Can I bring a dog", "Must I bring a dog"),
        ("Do I need to verify a card", "How do I verify a card"),
        ("I can't use my card", "I can't find my card"),
        ("Do you like music", "Do I like music"),
        ("你喜欢音乐吗", "我喜欢音乐吗"),
        ("What does 😀 mean to people", "What does 😡 mean to people"),
        ("iphone八怎么样", "iphone7怎么样"),
        ("Fly from Rome to Oslo", "Fly from Oslo to Rome"),
        ("Is my lodger allowed to smoke", "Is my landlord allowed to smoke"),
        ("How much water should I drink", "How much wine should I drink"),
        ("Who was the director of Intel", "Who is the director of Intel"),
        ("How many people can use a lift", "How many people must use a lift"),
        ("How do bees make wax", "How do I make wax"),
        ("从北京到上海", "从上海到北京"),
        ("法院将判了什么", "法院判了什么"),
        ("一天吃几次", "一天吃几个"),
        ("第一天吃多少", "一天吃多少"),
        ("为什么不去", "为什么去"),
        ("交易所怎么注册", "交易怎么注册"),
        ("过路费怎么交", "路费怎么交"),
        ("把手怎么装", "手怎么装"),
        ("车把怎么修", "车怎么修"),
        ("电能怎么计算", "电怎么计算"),
        ("蛋糕怎么做", "鸡蛋糕怎么做"),
        ("看房要注意什么", "查房要注意什么"),
        ("车灯怎么换", "车灯怎么改"),
        ("证件怎么补办", "身份证怎么补办"),
        ("补办护照需要什么材料", "护照需要什么材料"),
        ("想睡觉怎么办", "怎么睡觉"),
        ("不想续费,怎么弄", "怎么续费"),
        ("退机票要手续费吗", "退机票能退手续费吗"),
        ("租房要交押金吗", "租房收押金吗"),
        ("维修谁负责", "维修费谁承担"),
        ("存款收利息吗", "存款有利息吗"),
        ("怎么收手续费", "怎么交手续费"),
        ("动不动就哭怎么办", "动就哭怎么办"),
        ("多久复查", "多久复查一次"),
        ("一般纳税人怎么申请", "纳税人怎么申请"),
        ("自己升级内存怎么弄", "自动升级内存怎么弄"),
        ("平均年龄差是多少", "平均几岁"),
        ("面条煮几分钟", "面条煮几碗"),
        ("能用刀吗", "能带刀吗"),
        ("取消申请流程", "申请取消流程"),
        ("Is there a train over the bridge", "Is there a train under the bridge"),
        ("How do you check my identity", "How do I check my identity"),
        ("How is the exchange rate", "How do I get the exchange rate"),
        ("개를 어떻게 키우나요", "고양이를 어떻게 키우나요"),
    ],
)
def test_two_questions(one: str, other: str) -> None:
    assert question(reading(one)) != question(reading(other))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "?!",
        "\0",
        "the",
        "What?",
        "谢谢",
        "吗",
        "please",
        "Why?",
        "What is it?",
        "What is the password?",
        "entropy",
    ],
)
def test_too_little_to_tell(text: str) -> None:
    assert question(reading(text)) is None


@pytest.mark.parametrize(
    "terms",
    [
        Terms(antonyms=(("refund", "Reimbursement"),)),
        Terms(classes=(("voucher",), ("refund", "reimbursement"))),
        Terms(antonyms=(("申請", "办理"),)),
        Terms(classes=(("申请", "办理"),)),
    ],
)
def test_what_an_operator_tells_apart_is_not_the_same(terms: Terms) -> None:
    """Be it for the built-in lists: no guard is asked about equal forms."""
    pairs = [
        ("how do I get a refund", "how do I get a reimbursement"),
        ("如何申请签证", "怎么办理签证"),
    ]
    assert all(question(reading(one)) == question(reading(other)) for one, other in pairs)

    apart = [question(reading(a, terms)) != question(reading(b, terms)) for a, b in pairs]
    assert apart == ["refund" in str(terms), "办理" in str(terms)]
    for one, _ in pairs:
        assert question(reading(one, terms)) == question(reading(f"{one}?", terms))


def test_an_operators_synonyms_are_one_word() -> None:
    """In whatever letters they are written."""
    terms = Terms(
        synonyms=(
            ("aftercare", "service  desk", "customer’s corner"),
            ("会员", "ＶＩＰ用户"),
            ("退貨", "退換貨"),
        )
    )

    for one, other in (
        ("How do I call the aftercare", "How do I call the service desk"),
        ("How do I call the customer's corner", "How do I call the service desk"),
        ("会员怎么续费", "vip用户怎么续费"),
        ("怎么退货", "退换货流程"),
        ("怎麼退換貨", "怎么退货"),
    ):
        assert question(reading(one)) != question(reading(other))
        assert question(reading(one, terms)) == question(reading(other, terms))
