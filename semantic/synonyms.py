"""English words that ask the same, whatever is asked."""

from __future__ import annotations

from typing import Final

SYNONYMS: Final = {
    word: line.split()[0]
    for line in """
get receive obtain acquire
create setup
street road
buy purchase
begin start commence
fix repair mend
help assist
show display
delete erase
change modify alter amend
revert undo
picture photo photograph image
child kid
baby infant
film movie
car automobile
flat apartment
atm cashpoint
baggage luggage
phone mobile cellphone smartphone telephone
vaccine jab vaccination shot
warranty guarantee
price cost
staff employee personnel
holiday vacation
shop store
taxi cab
bin trash rubbish garbage
lift elevator
petrol gasoline
fridge refrigerator
method way
error mistake
problem issue trouble
quick fast
big large
answer reply
allow permit
need require required needed
recent latest
document paperwork
complaint grievance
lawyer solicitor attorney
illness disease
doctor gp physician
medicine medication
mum mom mother
dad father
parcel package
delivery shipping shipment
deliver ship
dispute challenge
unlock unfreeze unblock
lock freeze
select choose pick
close shut
end finish
build construct
use utilise utilize
refund reimbursement
organise organize arrange
defer postpone
reserve book
ms millisecond
ml machinelearning
tip hint
author writer
database db
postgres postgresql
application app
configuration config
repository repo
directory folder
dictionary dict
string str
integer int
parameter argument param
environment env
programme program
centre center
colour color
licence license
favourite favorite
grey gray
enrol enroll
instalment installment
instal install
tyre tire
near nearby
nearest closest
bike bicycle
motorbike motorcycle
plane airplane aeroplane aircraft
sofa couch
exam examination
info information
maths math mathematics
university uni
vet veterinarian
pavement sidewalk
nappy diaper
tap faucet
torch flashlight
jumper sweater pullover
aubergine eggplant
courgette zucchini
coriander cilantro
motorway highway freeway
windscreen windshield
lorry truck
railway railroad
advert ad advertisement
""".strip().splitlines()
    for word in line.split()
}
"""Words that ask the same, to the first of their set."""
