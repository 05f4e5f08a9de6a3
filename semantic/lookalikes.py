"""English words that are a slip of the pen away from another word: each is what it is."""

from __future__ import annotations

from typing import Final

from semantic.wordlist import listed

LOOKALIKES: Final = frozenset(
    listed(
        """
action adapted adopted angel angle area arena auction back baker ballet ballot band bank barker
barn baron basis bass bath bathe battle beach bead bear beard beast beat bell belly below bend best
better bitter black blank blend blond blood bloody blow bond boost boot booth boring both bother
bottle bought bound brand brass breach bread breast breath breathe bride bridge bring brother
brought brow brown brush bullet bush butter cane capita capital capitol card care cared cart carter
carton cartoon carved case cash cast casual causal cause cease cell cello cement certain chain
chart charter chase chat chef chief chin china clan clash clause clean clement close closer closet
cloth clothe coast coat cold collage college comic compete competed complement complete completed
compliment concert concerto contact contacted contract contracted cosmic could count country county
course cove cover crane crash crashed crater crow crowd crown crushed cure curse curtain curve
curved dairy dance dancer dawn debt debut decade deceased decent decide decreased demo demon
descent desert dessert diary died diner dinner dirt dirty disc disco dive diving doing dong dove
drafted drawn dried drifted drive driver driving drove dust dusty duty earl early easter eastern
eight eighth eighty envelop envelope even event ever every exist exit expert export extant extent
faction failed fair fairy falling fame farmer farming farther faster feast feat fellow fiance
fiction field fight filed filling filmed finance finding fired flame flight flood flow flown follow
food form former forming fort forth forty forum foster found founded founding fourth fraction frame
fried friend fund funded funding further gain garage garbage gave gene genera general genre
gentleman gentlemen gown grade grain gran grand grande grant grave gravel grown guilt guilty halted
handed handing handled handling hard hardy hated head hear heard heart heat heated horse hose
hostel hotel house human humane idea ideal join joint last lasted lasting late later latter launch
lawyer layer laying leading lean leaned leaning learn learned learning least letter lighting
lightning liked line linear lined liner linked listed listing live lived liver living loading
loaned loose lose loser love lover loving luck lucky luna lunar lunch lying make maker manual
manuel marital marker martial massage meal mean meant meat medal mental message metal midst might
mighty minister minster mist mode model money monkey monster month moore moral morale more mortal
moth mouse mousse mouth nation nice niece noel noise nose nothing noting notion novel owed owned
pace packed pain paint painted painting palace paris parish part party patch patent path patient
paying peace perfect perform phase phrase picked pier pilot pipe piper place plain plan plane
planet plant playing plot pointed pointing pond portion potion pound powder power prefect preform
prescribe price prince prof proof proscribe prostate prostrate prove proven pure purse pursue quiet
quit quite rabbi rabbit rage raid raise raising range ranger ranging rapid read ready real realm
relay rely ride rider ridge ringing rise rising robot rock rocky rogue root rouge route router ruby
rugby rule ruler sack sacred sage sail sake sale salmon salon sample sand sandy satin save saying
scale scar scared scary scent score scored scorer scrap scrape seal seat seed seeing seeking seen
seized self sell selling send sending sent serve server setting settling seven sever severe shake
shelf shell shingle shoe shooting shore short shouting show shown sick side sigh sight signing
simple sing singe singing single site sitting sized slave slid slide slight smell snack snail snake
sock sold sole solid solve sort spain span speed spell spelling spend spending spent spin spit
spite split sport spot stack stage stake stand star stared stark state statin station stationary
stationery statue statute staying steal steam steep stem step stepped stepping stick sting stock
stole stopped stopping stored storey story strand stranger stream strike string strip stripe stroke
strong stronger struck stuck suck suite sung super supper sure surge sweat swing swinging swung
table tablet tack tail taking tale talking tank teach tech tend tent tenth than thank there thin
thing think threat three throat thrust tick tied tier tiger tired traced track tracked trail treat
treaty tree trend trial tribal trick tried truck trust tuck unit unity vacation vale value valve
vector vice victor violent violet visa vista vocation voice waist wait waiter waking walking washed
washing water were where whine wide wider widow width window wine wished wishing witch with
word wore world worse worth worthy wrong
"""
    )
)
