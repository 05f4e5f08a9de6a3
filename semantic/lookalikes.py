"""English words that are a slip of the pen away from another word: each is what it is."""

from __future__ import annotations

from typing import Final

from semantic.wordlist import listed

LOOKALIKES: Final = frozenset(
    listed(
        """
abbey abbot abbott abby abide abiding action adapted adapting adaptive addiction addictive addition
additive adopted adopting adoptive adored adorned adverse aide aiding alain alan albert alberta
alberto album alert alexandra alexandria alison allan alley allison alloy ally alum andersen
anderson andre andrea andrei andrew angel angela angelo angle anglo angola angus anne annex annie
anthony antony anus archie archive area arena argentina argentine arise arose arse ashton aside
assert asserted asset assorted aston auction audi audit austen austin averse avid avoid bach back
backed backing bacon bail bailed bain baird bake baked baker baking ballad ballard ballet ballot
band bandage bank banker banking bard bare barely barge barker barking barkley barley barn barnett
baron barrow barton based bashing basil basin basing basis bass batch bath bathe baton batter
batting battle battled battling beach beacon bead beak bean bear beard bearded beast beat beating
bedding bedside began being bell bellow belly below bend bender bending bengal bengali bent berger
bert berth beside best beth better betting biased bible bidding biking bile billet billow bind
binder binding bing bird bitter black blacked blake bland blank bleach bleak bled blend blended
blender blending blind blinded blinding bling bloc block blocked blond blood bloody bloom blooming
blow bluff blush board boarded boast boasted boasting boat boating body boeing boiled bois boise
bond bondage bonded bonding bone book boom booming boone boost boosted boosting boot booted booth
bored boring boris borne borrow bose both bother bottle bottled bought bound bounded bourne bowed
bowel bowl bowled brad brady braid brain brake braking bran branch brand brandt brandy brass braun
bray breach bread breadth break breaking breast breath breathe bred breed brent bret brett brian
bride bridge bridget brig brighten brighton bring broach broad brody broke brooch brook brooke
broom broth brother brought brow brown browne brownie brunch brush bryan bryant budding budge
budget buff bullet bunch bunker burger burnett burnt burrow burst bursting burt burton burying
busch bush bust busting butter buying cabin caesar cain calf cali calif callous callus camel
cameron cameroon camilla camille camp camped cane canning cannon canoe canon canton canvas canvass
canyon capita capital capitol cara caramel carat card care cared caret carey caring carl carla
carlo carlson carlton carly carmel carol carolina caroline carry carson cart carter carton cartoon
carve carved carving cary case cash casing cass cast caste casting castle casual catchy cater cathy
causal cause causing cave cease cell cellar cello cement certain cesar chain chair champ chan
chanel chang channel channing chant chap chaplain chaplin char charlton charm chart charter chase
chasing chat cheap cheat cheer chef chen cheng cher chiang chic chick chief chin china ching
chipped choke chopped chopper choral chord chris christ christi christian christie christina
christine chun chung chunk claim claire clam clamp clan clap clara clare clarke clash class claudia
claudio clause clean cleaning cleansing clement clever client climactic climatic clint clone close
closer closest closet cloth clothe clover clutter coal coarse coast coat cobra coca cocoa cohen
coin coke cold colin collage collar college collision collusion colombia columbia coma combo come
comedy comet comey comic comin comma command commanded commend commended como compete competed
competing compiled complain complaint complement complementary complete completed completing
compliant complied compliment complimentary compute computed computing conan concert concerto
concession concussion condo condom cone confidant confident confirm conform conn connor conor
consul consult contact contacted contacting continent contingent contract contracted contracting
convection convert convey conviction convoy cook cooke cooked cookie cope coping copper copying
cora coral cord core corey corner corny coroner corps corpse cory cosby cosmic cost costing couch
could count countess countless country county coupe couple course cove cover covert craftsman
craftsmen cramped crane crash crashed crashing crate crater crave craving crease create crete
cristina crook crooked crore crosby crouch crow crowd crown crushed crushing cunning cuomo cure
cured curing curled curling currant current curse cursed cursing curtain curve curved cute cutie
cutter cyprus cyrus daft daily dairy daly damian damien damn damon dana dance dancer dane dank
dante daring darling darryl dart darth daryl date davies davis dawn dead debated debit debt debut
debuted decade decease deceased decent decide decreased deer defer deleted deletion delhi deli dell
demo demon demur demure denis denise dennis denny dense deny departed depleted depletion deported
deprecate depreciate deprived derive derived descent desert dessert deter dexter diana diane diary
died dilation dilution dine diner ding dinner dion diploma diplomat dipping dirt dirty disc discard
disco discord discreet discrete distract district dive diver divert divided dividend diving dixon
doing dole domingo domino done dong donor door doping doug dough dove down downed downing doyle
draft drafted drafting dragged drank drawn dread dried drifted drifting dripping drive driver
driving drone dropping drove drown drowned drowning drugged drunk dryer drying dunk during dust
dusty duty dwell dyeing dyer dying earl early earnest ease eased easter eastern easton eater eaton
edit edith eerie eight eighth eighty either eliot elise elle ellie elliot elliott elon else elton
emanuel emmanuel ensued ensuing ensured ensuring envelop envelope envoy envy erase erased erie
ernest ernie ernst esther eternal eternally ether ethic ethnic europa europe even event ever every
except excerpt excise excited excuse exercise exert exist existed existing exit exited exiting
exorcise expanse expansive expense expensive expert export extant extent external externally face
faction faculty fail failed failing fair fairly fairy fake fallen falling fallon fame famed farce
fare farmed farmer farming farther fast faster father faulty feast feat feather feed fellow fender
fest feud fiance fiction field fight filed filing filler filling filmed filming finance find finder
finding fined finer finger finish finnish firearm fired first fischer fisher fist fitz flair flake
flame flaming flare flashed flashing flat flawed fled flee fleeing fleet fleeting fleming flight
fling float flood flounder flour flow flowed flown flushed flushing flying follow fond font food
force fore forearm forest forex forge forget form formed former forming forrest forster fort forte
forth forty forum foster found founded founder founding four fourth fraction frail frame framed
framing france francesca francesco francis francisco franco francois fred frederic frederick freed
freeing freezing freight freud friction fried friend fright fritz front fuller fund funded funding
furry further fury gage gain galleon gallery galley gallon garage garbage garde gardener gardiner
gardner gareth garner garry garth gary gasp gauge gave gavin gaze gazing geek gene genera general
genie genius genome genre gentleman gentlemen genus george gerard germain german gerrard gill glad
gland glaze gnome going gold gong gore gorge gould gown grace gracie grade grain gran grand grande
grant grasp grave gravel grazing great greek greg gregg greta grid grill grim grimm grin grind
groin groove grove grown guilt guilty hadley hailed haired haley halted hana handed handing handled
handling hang hangar hanger hangover hanna hannah hanover hansen hanson hard hardly hardy harsh
hart hasan hash hassan haste hatch hate hated hath hating hatred hauled haunt haunted haunting
haute haven hawthorn hawthorne hayley head hear heard heart hearted heat heated heater heather
heating heaven henri henrik herd herein heroin heroine hilary hillary hind hindi hindu hinted hired
hitter hoard hoarse holly holy home homie hoover horse hose hostel hotel hotter house hover howard
huang human humane hung hungary hunger hungry hunt hunted hunting hussain hussein iconic idea ideal
immanent imminent immoral immortal indeed indexed indicated indicted induced inducted ingenious
ingenuous inhabit inhibit insect inspect insulate insulated insulted into intro ionic iris irish
ironic isabella isabelle jaime jamie jane janet jeanne jesse jessie jingle joan joanna joanne johan
john johnny johnson johnston join joint jonny jude judge julian julie julien juliet jungle kane
kanye kara karma kate kathy katie katy keane keller kelley kelly kelvin kevin khaled khalid killer
kirsten koran korean kristen kristin kyle kylie lace laced lacey lacked lacking lacy lagging lana
lance landing lane lange lanka lara larsen larson lash last lasted lasting late later lateral latex
latina latino latter launch laura lauren laurent lawyer layer laying leach leading leah lean leaned
leaning learn learned learning leash least legged lemon lending leon leone lessen lesson lest
letter lgbt lgbtq licked licking lied lien lightening lighting lightning liked liking lilly lily
limbo limo linden lindsay lindsey line linear lined linen liner ling linger lining linked linking
listed listing literal litter live lived lively liver living loading loan loaned loath loathe
locked locking logan logged logging lois lone longer loose lose loser louie louis louisa louise
love lovely lover loving luca lucia luck lucky lucy luis luna lunar lunch lying macdonald mach
mackay mackenzie macro maga magna main maine mainly maize make maker makin making male mali malik
malta mana mandy mane manga mani mania maniac manic manila manly manny mansion manson mantel mantle
manual manuel many maori maple mara marc march marco mare margin mari maria mariah marian marie
marin marina marine marino mario marion marital marker marking maroon marrow marry marsh marta
marten martha martial martian martin martini marty marvin mary mash mason massage master mata mater
matter maxi maxim maxine maze mcdonald mckay mckenzie meal mean meaning meant meat medal media
medial median mediation medical medication medina meditation megan meghan mellon melon mental mess
message messed messi messing metal meteor meter miami mich michael michel mickey midst might mighty
mikey mile miller milne mimi mimic mind minded mine mined minister minster mislead misled missed
missing mist mister mitch moan moaning mode model modem mohammad mohammed moist money monkey
monster mont month moon moor moore moral morale morality moran more morgan mormon morning moron
morrow morse mortal mortality morton most moth moto motor motto mount mourning mouse mousse mouth
move movie mucous mucus mueller muhammad muller muse muster naive nation native neal negro nepal
nero neural neutral newton newtown nice niche nick nicki nicola nicole niece nina ninja nobel noble
noel noise nora norma norse nose note nothing noting notion notre nova novak novel nude nudge
oliver olivier once ordinance ordnance ounce outage outrage over overhead overheard overlay overly
overt owed owing owned owning pablo pace paced pacing packed packet packing paddle page paid paige
pain paint painted painter painting palace palate paleo palin pallet palm palo paolo papa papal
papua paris parish parity part parting partly party partying pastel pasture patch patel patent
paterson path patient patrol patterson paulo payable payback payer paying payoff paypal peace peach
pearce pearson peasant peer pellet penned perfect perform perineal perish peroneal person peter
peterson petrol petty phase philip phillip phony phrase physic physics picked picket picking piece
pier pierce pilot pinned pint pipe piper pistil pistol place placed placing plaid plain plan plane
planet plank plant planted plate plated playable playback player playing playoff pleasant plot plus
plush pocket point pointed pointer pointing poised pole polio polled polling polly polo poly pond
pony poole portion porto pose posed posing posted posting posture potent potion pound powder
powdered power powered prayer praying preach prefect preform premise prescribe pretty price prince
print prod prof promise proof proper proscribe prose prosper prostate prostrate proto proud prove
proven psalm psyche psycho puddle pulled pulling pure purge purity purse pursue push quiet quilt
quit quite rabbi rabbit racket radial radical rage raging rahul raid raider raiding rained raining
raise raising ramsay ramsey range ranger ranging rapid rapper rapping rational rationale raul
reactor read ready reagan real reality realm realty reap rebel recap reckon recon rector reel
refuse regain regal regan reggae reggie regimen regiment reich reign reigning rein relay relied
relieve relive rely relying remainder remanded reminded reminder renal rene renew rental repay
repeal repel replay replied reply replying resent reset reside residue resign resigning resin rest
restrain restraint reuse revered reverend reversed rhode rich richer richie richter ride rider
ridge riding ridley rigged riley ringing rinse rioting ripley ripper ripping rise rising risking
ritchie rivera riviera robbed robber robbing robot rock rocket rocky rode rogue roland role rolex
romeo romero rooster root rooted rooting rose rosie ross rossi roster rotating rotting rouge route
routed router routing rowing rowland rowling rubbed rubber rubbing rubin ruby rugby rugged ruin
ruined ruining rule ruler runaway runway sack sacked sacred sage sail sake sale salem salman salmon
salon saloon salt salted salvage sama same samoa sample sand sandy sane sanford sang sara sarah
sash satan satin savage save saved saving saying scale scar scarce scare scared scarf scaring
scarlet scarlett scary scent sceptic score scored scorer scoring scot scott scout scrap scrape
scrum scum seal sealing seam sean seat seating seattle section sedan seed seeding seeing seek
seeking seeming seen seize seized seizing self sell selling send sender sending sent seoul septic
serena serene serge sergei serve server setting settle settling seven sever severe sewing sexiest
sexist shack shake shale shalt shame shan shane shape share shared sharpe shatter shaun shave
shaved shaving shawn shed sheen shelf shell shelley shelly shen shepard sheppard sherbert sherbet
shia shine shingle shipping shire shiva shock shoe shone shooting shopping shore short shortly
shorty shot shout shouting shove shoved shoving show shown shred shrine shun shut shutter sick side
siding sigh sight sigma signing silicon silicone simmer simple simulate simulated simulation sing
singe singh singing single sink sinner sipping sire site sitting size sized sizing skinner skipping
skye skype slack slander slang slapped slapping slash slated slave slaying sleek slender slick slid
slide sliding slight sling slipped slipping slit sloan slogan slum slump smack smacked smash smell
smelling snack snail snake snuck soar sock sofa sofia soil solar sold sole solid solve sonar sonny
sony soon sophia sophie sore sort sorting soul space spacex spain span spanning spare spared
sparked sparse spawn sped speed speeding spell spelled spelling spend spending spent spilled
spilling spin spinner spinning spit spite spitting splash split splitting spoil spoon sport
sporting spot spotting spring sprung square squire stable stacey stack stacked stacking stacy
staffed staffing stage stain stained staining stair stake stale stalin stan stand stanford staple
star stare stared staring stark starred starring start started starting startled startling starve
starved starving stash stat state stated statin stating station stationary stationery statue
stature statute stay staying steak steal stealing steam steamed steaming steep stem step steph
stepped stepping sterling steve steven stevie stick sticking stigma stimulate stimulated
stimulation sting stink stir stirling stirred stirring stock stocked stocking stoke stoked stole
stomp stony stop stopped stopping store stored storey storing stormed stormy story strain strained
straining strand stranger strangest strapped stray streak stream streamed streaming strike string
strip stripe stripped stroke strong stronger strongest struck strung stuart stuck study stuffed
stuffing stun stung stunt sturdy sturgeon suck sucked suction suing suite summer sung super superb
supper sure surge surgeon sven swam swamp swap swarm swat sweat sweater sweating sweeter swell
swelling swimmer swing swinging swore swung table tablet tack tackle tail tainted taker takin
taking tale talkin talking taller tamil tank tanker tapped tapping taste tasted tasting tate teach
tech teller temp tempt tend tender tending tent tenth teresa tested testing than thank thanking
there theresa thick thin thing think thinker thinking thirsty thirty thompson thomson thorn thorne
thread threat three throat throne through thrust tick tickle tied tier tiger tile tilted timber
timed timer tinder ting tinker tinted tipped tipping tired title titled toasted toll toni tonic
topical topped topping torn toro torso tortuous torturous tough towel trace traced tracey tracing
track tracked tracking tracy trail tram tramp trance transit transmit trap trapped trapping tray
tread treat treaty tree trend trending trent trial tribal trick tricked trickle tried tripped
tripping troll tropical trot trough trout trowel truce truck trucking true trust trying tuck tuned
tuning turin turn turned turning twain twin tying typing unfit union unison unit unity upheld
uphold upon upton uptown urban urbane user usher vacation vale valley value valve vantage vaughan
vaughn vector venal venial ventura venture vera veracious versa vertex vice victor vigil vince vine
vintage violent violet virgil visa vista vita vocation voice volley voracious vortex wager wagner
waist wait waiter waive waived waking walking wallis walsh walt walter waltz wander wandered
wandering warner wary wash washed washing water watt wave waved waving weary weave weaving webber
weber weigh weighed weight weighted weld welding wenger were werner what wheat where whine whipping
whopping wide wider widest widow width wield wielding wight wild wilde wilder wildest wildly willis
willy window wine winger wished wishing witch with withheld withhold wolf wolff wonder wondered
wondering wong word wore world worse worth worthy wrath wreath wreathe wright wrist writ wrong
wyatt yong young
"""
    )
)
