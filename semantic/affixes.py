"""What turns a word round from within: a letter, a beginning, an ending."""

from __future__ import annotations

from typing import Final

LETTERS: Final = """
大小 多少 长短 高低 高矮 上下 前后 左右 里外 内外 东西 南北 来去 出入 出进 进退
开关 开闭 买卖 借还 存取 收发 收付 收支 得失 胜败 胜负 赢输 升降 涨跌 增减 加减
乘除 早晚 早迟 快慢 冷热 凉热 寒暖 干湿 胖瘦 肥瘦 粗细 厚薄 宽窄 深浅 轻重 软硬
松紧 强弱 亮暗 明暗 黑白 新旧 新老 老少 男女 公母 雌雄 父母 夫妻 兄弟 真假 对错
是非 好坏 优劣 善恶 美丑 贵贱 贫富 穷富 奖罚 赏罚 赞贬 褒贬 攻守 攻防 问答 教学
始终 始末 首尾 首末 起止 起落 起降 生死 存亡 聚散 离合 分合 拆装 缓急 动静 虚实
盈亏 赚赔 赚亏 供需 供求 主次 主副 正反 正负 正误 阴阳 凹凸 横竖 纵横 直曲 直弯
方圆 单双 单复 奇偶 整零 甜苦 咸淡 浓淡 香臭 生熟 远近 难易 利弊 利害 祸福 安危
悲喜 哭笑 爱恨 异同 有无 已未 古今 昼夜 晴雨 醒睡 饱饿 饥饱 满空 盛衰 兴亡 沉浮
推拉 吸呼 吞吐 抑扬 伸缩 张弛 扩缩 迎送 接送 留走 娶嫁 婚离
"""
"""Single letters that turn round the word they stand in: 入境 and 出境, 已婚 and 未婚."""
PREFIXES: Final = """
over under
up down
in out
im ex
in ex
pre post
fore back
for back
en de
en dis
as des
inter intra
hyper hypo
macro micro
mono multi
mono poly
uni multi
uni bi
pro anti
sub super
"""
SUFFIXES: Final = """
ful less
er ee
or ee
free ful
ate ite
ate ide
ite ide
ane ene
ane yne
ene yne
ose ase
"""
"""Beginnings and endings that do so to one stem: overpaid and underpaid, harmful and harmless."""
