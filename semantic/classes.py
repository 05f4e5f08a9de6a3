"""Classes of words of which two different ones ask two different things.

The words of a class are divided by commas, the names of one thing by slashes.
"""

from __future__ import annotations

from typing import Final

ENGLISH: Final = """
weekday = monday/mon, tuesday/tue/tues, wednesday/wed, thursday/thu/thurs, friday/fri,
    saturday/sat, sunday/sun
month = january/jan, february/feb, march, april, june, july, august, september/sept, october/oct,
    november/nov, december/dec
season = spring, summer, autumn, winter
daytime = morning, noon/midday, afternoon, evening, night/overnight, midnight
day = today/tonight, tomorrow, yesterday
span = hour/hourly, day/daily, week/weekly/fortnight, month/monthly, quarter/quarterly,
    year/yearly/annual/annually, minute
city = london, paris, berlin, rome, madrid, oslo, vienna, dublin, lisbon, prague, warsaw,
    budapest, athens, moscow, istanbul, cairo, tokyo, osaka, kyoto, seoul, beijing, shanghai,
    shenzhen, guangzhou, hangzhou, nanjing, wuhan, chengdu, singapore, bangkok, sydney, melbourne,
    toronto, vancouver, montreal, boston, chicago, seattle, houston, dallas, denver, atlanta,
    miami, manchester, birmingham, leeds, glasgow, edinburgh, liverpool, bristol, cardiff,
    belfast, munich, hamburg, frankfurt, milan, venice, florence, naples, barcelona, amsterdam,
    brussels, zurich, geneva, stockholm, copenhagen, helsinki, mumbai, delhi, bangalore, jakarta,
    manila, hanoi, dubai
country = uk/britain/england, scotland, wales, ireland, usa/america, canada, mexico, brazil,
    argentina, chile, france, germany, spain, portugal, italy, greece, turkey, russia, ukraine,
    poland, sweden, norway, denmark, finland, netherlands/holland, belgium, switzerland, austria,
    china, japan, korea, india, pakistan, iran, iraq, israel, egypt, nigeria, kenya, australia,
    zealand, thailand, vietnam, malaysia, indonesia, philippines, taiwan, eu/europe, asia, africa
currency = usd/dollar, gbp/pound/sterling, eur/euro, jpy/yen, cny/rmb/yuan, inr/rupee, chf/franc,
    cad, aud, hkd, bitcoin/btc, ethereum/eth, usdt
language = english, chinese/mandarin, cantonese, french, german, spanish, portuguese, italian,
    russian, japanese, korean, arabic, hindi, dutch, latin, turkish, vietnamese, thai, polish,
    swedish
system = windows, linux, ubuntu, debian, centos, macos/mac/osx, android, ios/iphone, ipad,
    chromeos
colour = red, orange, yellow, green, blue, purple/violet, pink, brown, black, white, grey/gray,
    gold, silver, beige
code = python, java, javascript/js, typescript/ts, golang, rust, ruby, php, kotlin, swift, scala,
    perl, haskell, c++/cpp, c#/csharp, lua, julia, matlab, fortran, cobol, bash, powershell, sql
database = mysql, postgresql/postgres, mongodb/mongo, redis, sqlite, oracle, mariadb, cassandra,
    elasticsearch, dynamodb, snowflake, clickhouse
server = nginx, apache, tomcat, caddy, iis, haproxy
frame = react, vue, angular, svelte, django, flask, fastapi, rails, spring, laravel, express,
    nextjs
format = json, yaml/yml, xml, csv, toml, html, markdown/md, pdf, docx/word, excel/xlsx, latex,
    table, list, bullet, paragraph, essay, poem, story, email/mail, letter, tweet, novel, summary
shell = git, svn, mercurial
cloud = aws/amazon, azure, gcp
brand = apple, samsung, huawei, xiaomi, sony, nokia, lg, dell, lenovo, hp, asus, google,
    microsoft, facebook/meta, twitter, instagram, tiktok, youtube, netflix, spotify, whatsapp,
    wechat, telegram, alipay, paypal, stripe, visa, mastercard, amex/american, visa, uber, lyft,
    tesla, toyota, bmw, ford, honda, audi, mercedes, volvo
kin = wife/husband/spouse/partner, mother/mum/mom, father/dad, son/daughter/child/kid/children,
    brother, sister, friend/guest, grandmother/grandma, grandfather/grandpa, uncle, aunt, cousin,
    colleague, roommate/flatmate
role = student, teacher, doctor/gp, nurse, lawyer, accountant, engineer, manager, beginner/novice,
    expert, tourist/visitor, resident, patient, pharmacist, driver, passenger, senior/pensioner,
    veteran, volunteer, freelancer, employee, self-employed, contractor, trainee, apprentice
animal = dog/puppy, cat/kitten, bird, fish, horse, cow, pig, sheep, goat, rabbit, hamster, snake,
    turtle, tortoise, parrot, mouse, rat, chicken, duck, bear, lion, tiger, elephant, monkey
meat = chicken, beef, pork, lamb, fish/seafood, vegetarian/vegan, turkey, salmon
illness = flu/influenza, cold, covid, fever/temperature, cough, headache, migraine, diabetes,
    asthma, cancer, allergy, insomnia, anxiety, depression, rabies, measles, shingles, tetanus,
    hepatitis, typhoid, malaria, uti, chickenpox
drug = ibuprofen, paracetamol/acetaminophen/tylenol, aspirin, antibiotic, antihistamine, insulin,
    amoxicillin, penicillin, codeine
vehicle = car, bus/coach, train, plane/flight, bike/bicycle, motorcycle/motorbike, van,
    lorry/truck, taxi/cab, ferry, tram, scooter, boat
room = bedroom, bathroom, kitchen, livingroom, garage, garden, attic, basement
document = passport, visa, licence/license, id, invoice/receipt, statement, contract
screen = phone/mobile/smartphone, laptop/notebook, tablet, desktop, tv/television
size = xs, xl, xxl, small, medium, large
tier = free, basic/starter, standard, plus, pro/professional, premium, enterprise, gold, silver,
    platinum, bronze, trial
class = economy, business, first
unit = kg/kilogram/kilo, gram, lb/pound/lbs, oz/ounce, km/kilometre/kilometer, metre/meter,
    cm/centimetre, mm, mile, inch, foot/feet, litre/liter, ml, celsius, fahrenheit, kb, mb, gb, tb
trade = mortgage/loan, pension, isa, insurance, broadband, mobile, electricity, gas, water
holiday = christmas, easter, halloween, thanksgiving, newyear, diwali, ramadan
card = credit, debit, gift, prepaid, sim
planet = mercury, venus, earth, mars, jupiter, saturn, uranus, neptune, pluto, moon
ordinal = primary, secondary, tertiary
step = undergraduate, postgraduate/master, phd/doctorate
"""

HAN: Final = """
weekday = 周一/星期一/礼拜一, 周二/星期二/礼拜二, 周三/星期三/礼拜三, 周四/星期四/礼拜四,
    周五/星期五/礼拜五, 周六/星期六/礼拜六, 周日/周天/星期天/星期日/礼拜天, 周末, 工作日
season = 春天/春季, 夏天/夏季, 秋天/秋季, 冬天/冬季
daytime = 早上/早晨/清晨/早饭/早餐, 上午, 中午/午饭/午餐, 下午, 晚上/夜里/晚饭/晚餐, 凌晨, 夜宵,
    白天
day = 今天/今日, 明天/明日, 昨天/昨日, 后天, 前天
year = 今年, 明年, 去年, 前年, 后年
relative = 本周/这周, 下周, 上周, 本月/这个月, 下月/下个月, 上月/上个月
city = 北京, 上海, 广州, 深圳, 杭州, 南京, 武汉, 成都, 重庆, 西安, 天津, 苏州, 长沙, 郑州, 青岛,
    大连, 厦门, 福州, 昆明, 沈阳, 哈尔滨, 济南, 合肥, 宁波, 无锡, 东莞, 佛山, 香港, 澳门, 台北,
    贵阳, 南宁, 海口, 三亚, 拉萨, 兰州, 太原, 石家庄, 东京, 大阪, 首尔, 巴黎, 伦敦, 纽约, 洛杉矶,
    柏林, 罗马, 莫斯科, 新加坡, 悉尼, 曼谷, 迪拜
province = 广东, 江苏, 浙江, 山东, 河南, 四川, 湖北, 湖南, 福建, 安徽, 河北, 陕西, 江西, 云南,
    贵州, 广西, 辽宁, 吉林, 黑龙江, 山西, 内蒙古, 新疆, 西藏, 海南, 甘肃, 青海, 宁夏
country = 中国, 美国, 日本, 韩国, 英国, 法国, 德国, 俄罗斯/俄国, 意大利, 西班牙, 加拿大,
    澳大利亚/澳洲, 印度, 巴西, 泰国, 越南, 马来西亚, 荷兰, 瑞士, 瑞典, 埃及, 伊朗, 伊拉克, 以色列,
    墨西哥, 朝鲜, 欧洲, 亚洲, 非洲, 美洲
currency = 人民币, 美元/美金, 欧元, 日元, 英镑, 港币/港元, 韩元, 卢布, 台币, 比特币, 以太坊
language = 中文/汉语/普通话, 英文/英语, 日文/日语, 法文/法语, 德文/德语, 韩文/韩语, 俄文/俄语,
    西班牙语, 粤语, 阿拉伯语, 拉丁语, 葡萄牙语, 意大利语
system = 安卓, 苹果/苹果手机, 鸿蒙, 电脑/电脑版, 手机/手机版, 平板, 网页/网页版
colour = 红色, 橙色, 黄色, 绿色, 蓝色, 紫色, 粉色, 棕色, 黑色, 白色, 灰色, 金色, 银色
brand = 华为, 小米, 三星, 联想, 戴尔, 特斯拉, 比亚迪, 宝马, 奔驰, 奥迪, 丰田, 本田, 大众, 耐克,
    阿迪达斯
shop = 淘宝, 京东, 拼多多, 天猫, 美团, 饿了么, 抖音, 快手, 微博, 小红书, 知乎, 哔哩哔哩/b站, 百度,
    腾讯, 阿里
pay = 支付宝/花呗, 微信, 银行卡, 信用卡, 借记卡, 现金
courier = 顺丰, 圆通, 中通, 申通, 韵达, 邮政, ems, 京东快递, 极兔
bank = 工商银行/工行, 建设银行/建行, 农业银行/农行, 中国银行/中行, 招商银行/招行, 交通银行/交行
kin = 爸爸/父亲/老爸, 妈妈/母亲/老妈, 儿子, 女儿, 孩子/小孩/儿童/宝宝/婴儿, 丈夫/老公, 妻子/老婆,
    哥哥, 弟弟, 姐姐, 妹妹, 爷爷, 奶奶, 外公, 外婆, 叔叔, 阿姨, 男朋友, 女朋友, 朋友, 同事, 老人,
    孕妇
role = 学生/大学生, 老师/教师, 医生, 护士, 律师, 会计, 司机, 经理, 员工, 程序员, 居民, 职工, 农民,
    军人, 老人, 残疾人, 游客, 外国人, 新手, 业主, 租户, 会员, 管理员
animal = 狗/小狗/狗狗, 猫/小猫/猫咪, 鸟, 鱼, 马, 牛, 羊, 猪, 兔子, 仓鼠, 乌龟, 蛇, 鸡, 鸭, 老虎,
    狮子, 大象
meal = 牛肉, 猪肉, 羊肉, 鸡肉, 鱼肉, 虾
vehicle = 汽车/开车, 公交/公交车, 地铁, 火车, 高铁, 飞机, 自行车, 电动车, 摩托车, 出租车/打车,
    轮船
form = 诗歌/诗/古诗, 小说, 散文, 作文, 邮件, 报告, 总结, 表格, 列表, 故事, 歌词, 剧本, 绝句, 律诗,
    演讲稿, 新闻稿, 周报, 月报, 日报
river = 长江, 黄河, 珠江, 淮河, 松花江
book = 红楼梦, 西游记, 水浒传, 三国演义
school = 幼儿园, 小学, 初中, 高中, 大学, 研究生, 博士
subject = 语文, 数学, 英语, 物理, 化学, 生物, 历史, 地理, 政治
document = 身份证, 护照, 驾照/驾驶证, 户口本, 居住证, 社保卡, 医保卡, 签证, 行驶证
insurance = 社保, 医保, 公积金, 养老保险, 失业保险, 生育保险, 工伤保险
leave = 年假, 病假, 事假, 产假, 婚假, 丧假, 陪产假
tax = 个税/个人所得税, 增值税, 房产税, 契税, 消费税
illness = 感冒, 发烧/发热, 咳嗽, 失眠, 头痛/头疼, 过敏, 腹泻/拉肚子, 糖尿病, 高血压, 胃痛/胃疼,
    便秘, 近视, 鼻炎, 肺炎, 流感, 牙疼/牙痛
holiday = 春节/过年, 元旦, 清明/清明节, 端午/端午节, 中秋/中秋节, 国庆/国庆节, 劳动节/五一,
    圣诞节, 情人节, 父亲节, 母亲节, 教师节, 儿童节, 元宵节, 七夕
planet = 地球, 月球/月亮, 太阳, 火星, 金星, 木星, 水星, 土星
unit = 公斤/千克, 斤, 克, 公里/千米, 米, 厘米, 英里, 升, 毫升, 小时, 分钟, 秒, 天/日, 周/星期,
    个月, 年, 元/块, 美元, 摄氏度, 华氏度
place = 地下室, 阳台, 厨房, 卧室, 客厅, 卫生间/厕所/洗手间, 办公室, 会议室, 宿舍, 教室
sport = 足球, 篮球, 排球, 羽毛球, 乒乓球, 网球, 跑步, 游泳, 瑜伽
fruit = 梨, 桃, 香蕉, 橙子, 葡萄, 西瓜, 草莓, 芒果
tier = 免费版, 个人版, 专业版, 企业版, 旗舰版, 标准版, 普通版, 高级版
paper = 发票, 收据, 合同, 证明
order = 退货, 换货, 退款, 维修
"""
