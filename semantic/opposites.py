"""Pairs of words that turn a question round: the sides of a pair are divided by a stroke."""

from __future__ import annotations

from typing import Final

ENGLISH: Final = """
allow, allowed, permit, permitted, let | ban, banned, forbid, forbidden, prohibit, prohibited,
    disallow
enable, activate, enabled, activated | disable, deactivate, disabled, deactivated
enroll, enrol, join, register, sign up | withdraw, leave, quit, drop out
open, opened, opening | close, closed, shut, closing
start, begin, starting, beginning, started | stop, end, finish, ending, stopped, finished
increase, raise, grow, gain, higher, more, rise, rising, increasing | decrease, reduce, lower,
    lose, less, shrink, fall, drop, decline, fewer, cut, decreasing, reducing
buy, purchase, buying | sell, selling, sold
add, insert, append, adding | remove, delete, drop, removing, subtract, take off
upload, uploading | download, downloading
import, imported | export, exported
send, sending, sent | receive, receiving, received
lend, lending | borrow, borrowing
encrypt, encryption | decrypt, decryption
encode | decode
compress | decompress, extract
install, instal | uninstall, uninstal
upgrade | downgrade
subscribe, opt in | unsubscribe, opt out
lock, locked, freeze, block, blocked, frozen | unlock, unlocked, unfreeze, unblock, unblocked
mute | unmute
follow | unfollow
connect, connected | disconnect, disconnected
show, display, reveal | hide, conceal
include, including, included | exclude, excluding, excluded, except
accept, approve, accepted, approved | reject, decline, refuse, deny, rejected, declined, refused,
    denied
advantage, benefit, upside, pro, strength | disadvantage, drawback, downside, con, risk, weakness,
    danger
positive, good, best, better, happy | negative, bad, worst, worse, unhappy
max, maximum, most, highest, largest, upper | min, minimum, least, lowest, smallest
before, prior, earlier | after, afterward, later, following
above, over, exceeding, beyond | below, under, beneath
in, inside, indoor, into | out, outside, outdoor
up, upward | down, downward
left | right
north, northern | south, southern
east, eastern | west, western
front | back, rear
first | last
new, newest | old, oldest, existing
public | private
cheap, cheaper, cheapest | expensive, dearer, costly
big, bigger, large, larger, biggest | small, smaller
long, longer, longest | short, shorter, shortest
fast, faster, quick | slow, slower
hot, warm, hotter | cold, cool, colder
hard, difficult, harder | easy, simple, easier
early | late
full, whole | empty, partial
with | without
same | different
true | false
safe, safely | dangerous, unsafe, harmful
legal, lawful | illegal, unlawful
win, winning, won | lose, losing, lost
success, succeed, successful | failure, fail, failed, unsuccessful
pass, passed | fail, failed
inbound, incoming, arrival, arrive | outbound, outgoing, departure, depart
internal | external
input | output
encourage | discourage
attach | detach
mount | unmount
push | pull
read | write
login, log in, sign in | logout, log out, sign out
check in | check out
turn on, switch on | turn off, switch off
import | export
save | spend
deposit, pay in | withdraw, withdrawal, take out
credit | debit
hire, hiring | fire, firing, dismiss
rent, tenant | own, owner, homeowner
landlord | tenant, renter
employer, boss | employee, worker
buyer, customer | seller, vendor
sender | recipient
parent | child
male, man, men | female, woman, women
boy | girl
spicy | mild
wet | dry
light | heavy
light | dark
strict | loose, lenient
temporary | permanent
optional, voluntary | mandatory, compulsory, required
single | double, joint
asc, ascending | desc, descending
horizontal | vertical
synchronous, sync | asynchronous, async
client | server
formal | informal, casual
online | offline
manual, manually | automatic, automatically
domestic, national | international, foreign
full time, fulltime | part time, parttime, part timer
prepaid | postpaid, contract
adult | child, kid, infant, baby
beginner, novice | expert, advanced
weekday | weekend
yearly, annual, annually | monthly
free | paid, enterprise, premium
cause | prevent, cure
agree | disagree
keep, continue, resume | cancel, pause, suspend
confirm | cancel
create, make | destroy, delete
attack | defend
ask | answer
pick up, collect | drop off
gross | net
personal | commercial, business, corporate
"""

HAN: Final = """
打开, 开启, 启用, 启动, 开通, 激活 | 关闭, 关掉, 停用, 禁用, 退出, 关停, 注销, 停止
上传 | 下载
升级 | 降级
加密 | 解密
压缩 | 解压
放大, 扩大, 调大 | 缩小, 调小
借款, 借钱, 贷款, 借入 | 还款, 还钱, 还贷, 借出
点赞, 收藏, 关注, 订阅, 预约, 置顶 | 取消点赞, 取消收藏, 取关, 取消关注, 退订, 取消订阅, 取消预约,
    取消置顶
取消, 撤销, 撤回 | 确认, 恢复, 保留, 提交
买, 购买, 买入, 采购, 买家, 买方 | 卖, 出售, 卖出, 销售, 卖家, 卖方
涨, 上涨, 涨价, 上升, 升高, 升值 | 跌, 下跌, 降价, 下降, 降低, 贬值
增加, 提高, 提升, 增大, 增强, 加快, 变多, 变大 | 减少, 降低, 减小, 减弱, 减慢, 变少, 变小
增肥, 增重 | 减肥, 减重
添加, 新增, 增加, 加入 | 删除, 移除, 去掉, 删掉, 退出
进口 | 出口
输入 | 输出
导入 | 导出
登录, 登陆, 登入 | 登出, 退出登录, 注销
注册 | 注销
安装 | 卸载
连接 | 断开
绑定 | 解绑, 解除绑定
锁定, 冻结, 拉黑, 上锁 | 解锁, 解冻, 取消拉黑, 解除
充值, 存款, 存钱, 存入, 转入 | 提现, 取款, 取钱, 取出, 转出
收入 | 支出
收款, 收钱, 收货 | 付款, 付钱, 发货
发送, 寄出, 寄件, 发件 | 接收, 收到, 收件
优点, 优势, 好处, 利 | 缺点, 劣势, 坏处, 弊
正面, 积极, 肯定, 好评 | 负面, 消极, 否定, 差评
之前, 以前, 前 | 之后, 以后, 后
以上, 高于, 大于, 超过, 多于 | 以下, 低于, 小于, 少于
以内, 之内 | 以外, 之外
最大, 最多, 最高, 最贵, 最长, 上限 | 最小, 最少, 最低, 最便宜, 最短, 下限
大 | 小
长 | 短
高 | 低, 矮
快 | 慢
早 | 晚
冷 | 热
左 | 右
东 | 西
南 | 北
里, 内, 室内 | 外, 室外
新 | 旧, 老
男 | 女
公 | 母
普通, 标准, 平邮 | 加急, 特快
简单, 简要 | 详细, 复杂
简体 | 繁体
免费, 个人, 基础 | 付费, 收费, 企业, 专业
家用 | 办公, 商用
线上, 网上 | 线下, 门店, 实体店
全职 | 兼职
国内 | 国外, 海外, 境外
公开 | 私密, 私有
入住 | 退房
出发 | 到达
起飞 | 降落
上班 | 下班
上车 | 下车
上线 | 下线
上架 | 下架
上 | 下
开头 | 结尾
开始 | 结束
允许, 同意, 接受, 批准 | 禁止, 拒绝, 不许, 反对
成功 | 失败, 不成功, 没成功, 没有成功, 未成功
通过 | 不通过, 驳回
包含, 包括 | 排除, 不含
安全 | 危险
合法 | 违法
赢 | 输
学生 | 老师, 教师
成人, 大人, 成年人 | 儿童, 小孩, 孩子, 未成年人
房东 | 租客, 房客
老板, 雇主 | 员工, 雇员
甲方 | 乙方
债权人 | 债务人
原告 | 被告
升序 | 降序
同步 | 异步
横 | 竖, 纵
静音 | 取消静音
显示 | 隐藏
正式 | 非正式, 口语
临时 | 永久
自动 | 手动
有线 | 无线
预付 | 后付
退货 | 换货
退款 | 换货, 补差价
入职 | 离职
结婚 | 离婚
开学 | 放假
加班 | 请假
减 | 加
"""
