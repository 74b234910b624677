"""Topics about things bought, work, money and people, with the facets people add. Written for queryveil."""

from __future__ import annotations

from typing import Final

# topic -> (words that searchers add, nouns of the topic)
TOPICS: Final[dict[str, tuple[str, str]]] = {
    "car": (
        "parts dealers used price recall review manual engine specs accessories",
        """
    sedan coupe convertible hatchback minivan pickup truck jeep van motorcycle moped scooter motorhome
    camper bus limousine ambulance hearse carburetor radiator alternator battery starter transmission
    clutch gearbox axle driveshaft differential suspension shock strut brake rotor caliper muffler exhaust
    catalytic manifold piston cylinder camshaft crankshaft gasket turbocharger supercharger spark
    distributor ignition odometer speedometer tachometer dashboard windshield wiper headlight taillight
    bumper fender hood grille spoiler hubcap wheel tire rim sunroof upholstery airbag seatbelt towing
    mechanic dealership garage emissions hybrid diesel gasoline ethanol horsepower mileage
        """,
    ),
    "computer": (
        "download driver software error setup upgrade free windows manual price",
        """
    laptop desktop notebook monitor keyboard mouse printer scanner modem router firewall antivirus spyware
    adware trojan worm virus backup harddrive floppy cdrom motherboard processor memory graphics soundcard
    webcam joystick speaker headset projector server mainframe workstation network ethernet wireless
    bluetooth broadband dialup browser cookie cache bookmark homepage website blog forum chatroom
    messenger email spam attachment password username screensaver wallpaper icon font clipart spreadsheet
    database presentation compiler debugger algorithm programming javascript html encryption hacker
    podcast screenshot emulator codec torrent
        """,
    ),
    "phone": (
        "ringtones plans deals unlock accessories charger cases reviews lookup",
        """
    cellphone pager voicemail ringtone handset charger antenna payphone switchboard directory area prepaid
    roaming texting wallpaper headset earpiece bluetooth fax telegraph answering caller telemarketer
        """,
    ),
    "electronics": (
        "reviews price manual cheap repair best parts comparison",
        """
    television plasma projector camcorder camera tripod stereo receiver subwoofer turntable headphones
    walkman boombox radio antenna satellite remote calculator thermostat telescope binoculars microscope
    battery charger adapter cable flashlight alarm doorbell intercom surveillance scanner transmitter
    oscilloscope multimeter soldering circuit resistor relay fuse
        """,
    ),
    "clothing": (
        "sale discount womens mens designer plus size cheap store",
        """
    shirt blouse sweater cardigan hoodie sweatshirt turtleneck vest jacket coat parka raincoat blazer suit
    tuxedo gown dress skirt jeans slacks shorts leggings pantyhose stockings socks underwear boxers briefs
    bra panties lingerie corset negligee pajamas robe slippers sandals sneakers boots loafers heels
    moccasins clogs hat cap beret fedora scarf gloves mittens belt suspenders necktie bowtie uniform
    scrubs swimsuit bikini kimono kilt poncho apron bandana sombrero
        """,
    ),
    "jewelry": (
        "sale wholesale antique designer custom gold silver repair",
        """
    necklace bracelet earring ring pendant brooch locket cufflink anklet tiara watch wristwatch charm
    bangle choker engagement diamond carat gemstone pearl handbag purse wallet briefcase tote clutch
    luggage umbrella sunglasses eyeglasses contacts monogram
        """,
    ),
    "finance": (
        "rates calculator account advice online tax company card",
        """
    mortgage refinance loan credit debt bankruptcy budget savings checking deposit withdrawal interest
    dividend annuity pension retirement stock bond mutual commodity futures option broker portfolio hedge
    inflation recession currency exchange euro yen peso bullion insurance premium deductible audit refund
    deduction exemption withholding payroll invoice receipt ledger accounting bookkeeper accountant
    appraisal escrow equity collateral foreclosure lender creditor collections identity paycheck allowance
    inheritance millionaire lottery
        """,
    ),
    "job": (
        "salary jobs description training resume openings interview employment certification",
        """
    accountant actuary architect artist astronomer baker banker barber bartender biologist bricklayer
    butcher carpenter cashier chef chemist clerk contractor cook courier dentist designer dispatcher
    doctor economist editor electrician engineer farmer firefighter fisherman florist foreman geologist
    hairdresser historian hostess interpreter jeweler journalist lawyer librarian lifeguard locksmith
    machinist manager meteorologist miner model musician nurse optician painter paralegal pharmacist
    photographer pilot plumber programmer proofreader realtor receptionist reporter salesman scientist
    seamstress secretary statistician stewardess surveyor tailor teacher technician teller therapist
    translator trucker typist upholsterer waiter waitress welder writer zookeeper internship resume career
    apprenticeship overtime layoff union strike
        """,
    ),
    "business": (
        "plan online marketing consultants services small software templates",
        """
    franchise startup partnership corporation nonprofit merger acquisition monopoly marketing advertising
    branding logo brochure flyer billboard slogan telemarketing wholesale retail inventory warehouse
    shipping freight logistics export import tariff manufacturing factory assembly packaging supplier
    vendor customer invoice payroll outsourcing consultant entrepreneur shareholder chairman executive
    supervisor stapler envelope letterhead stationery cubicle copier shredder whiteboard
        """,
    ),
    "realestate": (
        "sale rent listings agents prices county foreclosures plans",
        """
    house apartment townhouse duplex condominium loft penthouse studio mansion bungalow cottage cabin
    chalet farmhouse ranch farm barn acreage waterfront lakefront oceanfront realtor appraisal mortgage
    escrow closing inspection homeowner landlord tenant roommate sublet lease rental mobile trailer
    modular blueprint architect floorplan subdivision neighborhood suburb skyscraper warehouse storefront
        """,
    ),
    "farming": (
        "sale supplies farm breeds auction prices equipment",
        """
    cattle hog poultry livestock dairy tractor combine plow baler harvester silo barn stable pasture hay
    alfalfa wheat barley oats rye sorghum soybean cotton tobacco sugarcane vineyard orchard beekeeping
    irrigation crop harvest manure saddle bridle halter horseshoe stallion mare colt filly gelding mustang
    thoroughbred appaloosa angus hereford holstein jersey
        """,
    ),
    "dating": (
        "sites free advice online singles chat pictures questions",
        """
    romance marriage relationship boyfriend girlfriend fiancee soulmate crush flirting kissing breakup
    divorce infidelity affair cheating singles matchmaker personals chat webcam gay lesbian bisexual
    transgender massage escort swinger fetish sex nude porn erotic adult xxx stripper playboy centerfold
    lingerie condom viagra virginity celibacy
        """,
    ),
    "family": (
        "records tree names search history questions meaning",
        """
    genealogy ancestry surname census immigration obituary cemetery ancestor descendant heritage heraldry
    coat grandfather grandmother uncle aunt nephew niece cousin sibling stepmother stepfather godfather
    orphan widow widower bachelor bride baby nickname birthday reunion grandparent guardian foster runaway
    bully teenager
        """,
    ),
    "transport": (
        "schedule timetable map tickets fares route history accident",
        """
    railroad locomotive caboose freight subway tram trolley monorail bus ferry barge tugboat steamboat
    freighter tanker cruise liner helicopter airplane glider biplane seaplane blimp balloon rocket jet
    runway hangar cockpit parachute highway interstate turnpike toll bridge tunnel canal harbor port
    lighthouse bicycle unicycle rickshaw carriage stagecoach hitchhiking
        """,
    ),
    "weather": (
        "forecast radar today map tomorrow warning record average",
        """
    snow rain sleet fog frost wind sunshine humidity temperature thermometer barometer storm heatwave
    drizzle overcast monsoon rainbow cloud sunrise sunset tide forecast meteorologist almanac season
    winter spring summer autumn
        """,
    ),
    "news": (
        "news latest video headlines story today archives update",
        """
    scandal murder trial election hurricane terrorist kidnapping amber shooting riot protest war invasion
    hostage assassination bombing explosion plane crash shipwreck evacuation rescue investigation verdict
    execution indictment resignation strike shortage outbreak epidemic recall blackout sinkhole
        """,
    ),
    "occult": (
        "meaning free reading spells symbols stories real",
        """
    astrology tarot psychic palmistry numerology crystal ouija seance ghost haunting poltergeist exorcism
    demon vampire werewolf witchcraft voodoo amulet talisman curse hex spell potion alchemy mermaid
    unicorn dragon phoenix griffin centaur minotaur cyclops medusa zeus apollo athena hercules odin thor
    loki fairy elf gnome troll goblin leprechaun bigfoot yeti ufo abduction prophecy reincarnation karma
    chakra aura
        """,
    ),
}
