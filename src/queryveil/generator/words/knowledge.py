"""Topics about science, nature, history and state, with the facets people add. Written for queryveil."""

from __future__ import annotations

from typing import Final

# topic -> (words that searchers add, nouns of the topic)
TOPICS: Final[dict[str, tuple[str, str]]] = {
    "science": (
        "definition history degree careers textbook experiments projects notes theory journal",
        """
    physics chemistry biology astronomy geology meteorology oceanography ecology botany zoology entomology
    ornithology ichthyology herpetology paleontology anthropology archaeology sociology psychology
    linguistics philology phonetics semantics economics econometrics politics geography cartography
    mathematics algebra geometry trigonometry calculus topology statistics probability logic arithmetic
    genetics genomics microbiology bacteriology virology immunology physiology neuroscience cardiology
    oncology neurology pathology pharmacology toxicology epidemiology dermatology psychiatry ophthalmology
    radiology obstetrics gynecology pediatrics geriatrics dentistry mechanics optics acoustics
    thermodynamics electronics cryogenics robotics cybernetics metallurgy mineralogy petrology seismology
    volcanology hydrology agronomy horticulture forestry philosophy ethics aesthetics metaphysics
    epistemology theology
        """,
    ),
    "physics": (
        "equation formula units experiment law definition problems",
        """
    atom electron proton neutron quark photon neutrino isotope nucleus molecule ion gravity magnetism
    electricity voltage current resistance capacitor inductor transistor diode laser prism wavelength
    frequency spectrum radiation radioactivity fission fusion reactor uranium plutonium entropy momentum
    velocity acceleration inertia friction torque lever pendulum gyroscope pressure density viscosity
    buoyancy vacuum plasma relativity quantum particle collider telescope microscope spectrometer
    barometer hydrometer
        """,
    ),
    "chemistry": (
        "formula properties uses structure table reaction hazards",
        """
    hydrogen helium carbon nitrogen oxygen fluorine neon aluminum silicon phosphorus sulfur chlorine argon
    titanium chromium manganese cobalt nickel copper arsenic bromine silver tin mercury lead gold platinum
    radium acid alkali base salt oxide chloride sulfate nitrate ammonia methane ethanol benzene acetone
    glycerin polymer plastic catalyst solvent solution electrolysis oxidation combustion distillation
    titration crystal enzyme nucleotide hemoglobin chlorophyll keratin peroxide bicarbonate
        """,
    ),
    "astronomy": (
        "facts pictures distance size discovery planets",
        """
    sun moon mercury venus earth mars jupiter saturn uranus neptune pluto comet asteroid meteor meteorite
    galaxy nebula supernova pulsar quasar constellation eclipse solstice equinox orbit satellite
    spacecraft astronaut cosmonaut rocket shuttle observatory cosmos universe astrology horoscope zodiac
    aries taurus gemini leo virgo libra scorpio sagittarius capricorn aquarius pisces
        """,
    ),
    "earth": (
        "facts map types formation pictures causes effects",
        """
    earthquake tsunami hurricane tornado cyclone typhoon blizzard thunderstorm lightning hail flood
    drought avalanche landslide wildfire erosion volcano lava magma granite marble limestone sandstone
    slate shale quartz feldspar mica obsidian basalt diamond ruby emerald sapphire topaz opal garnet
    amethyst turquoise jade pearl amber fossil mineral sediment delta estuary peninsula plateau prairie
    tundra savanna swamp marsh wetland glacier iceberg continent equator latitude longitude climate
    greenhouse ozone pollution deforestation
        """,
    ),
    "animal": (
        "facts habitat pictures diet life endangered sounds babies",
        """
    lion tiger leopard cheetah jaguar cougar lynx bobcat wolf coyote fox jackal hyena bear panda raccoon
    badger otter weasel mink skunk wolverine elephant rhinoceros hippopotamus giraffe zebra antelope
    gazelle buffalo bison camel llama alpaca kangaroo koala wombat opossum platypus anteater armadillo
    sloth monkey baboon chimpanzee gorilla orangutan lemur squirrel chipmunk beaver porcupine mouse rat
    vole shrew bat whale dolphin porpoise seal walrus manatee horse pony mule donkey cow bull calf pig
    sheep goat crocodile alligator lizard chameleon snake cobra rattlesnake frog toad salamander newt
        """,
    ),
    "bird": (
        "calls nest pictures feeder eggs migration facts",
        """
    eagle hawk falcon osprey vulture owl crow raven magpie jay robin bluebird cardinal sparrow wren
    chickadee nuthatch woodpecker hummingbird swallow starling oriole thrush mockingbird pigeon partridge
    grouse peacock ostrich emu flamingo heron egret stork crane pelican gull tern albatross penguin puffin
    cormorant loon swan mallard kingfisher toucan kookaburra rooster hen chick
        """,
    ),
    "insect": (
        "bites control facts nest spray pictures killer",
        """
    ant bee wasp hornet yellowjacket butterfly moth caterpillar dragonfly mosquito gnat fly maggot
    cockroach cricket grasshopper locust mantis beetle ladybug firefly weevil aphid cicada earwig
    silverfish centipede millipede spider scorpion mite bedbug chigger leech earthworm snail slug
    jellyfish starfish coral anemone sponge barnacle
        """,
    ),
    "history": (
        "timeline facts battles essay maps causes leaders documents",
        """
    revolution empire dynasty monarchy republic crusade inquisition feudalism serf knight castle armor
    sword shield catapult viking gladiator pharaoh mummy hieroglyphics papyrus parthenon colosseum
    aqueduct legion senate emperor czar shogun sultan conquistador explorer pioneer settler colony
    plantation slavery abolition emancipation confederacy secession reconstruction prohibition depression
    holocaust genocide apartheid segregation suffrage treaty armistice trench blitzkrieg submarine bomber
    kamikaze communism fascism nazism marxism capitalism feminism imperialism colonialism nationalism
    immigration
        """,
    ),
    "military": (
        "pay ranks bases training uniforms records history benefits",
        """
    army navy marines airforce infantry cavalry artillery battalion regiment brigade platoon sergeant
    corporal lieutenant captain major colonel general admiral ensign cadet veteran draft enlistment
    deployment barracks missile torpedo grenade landmine tank helicopter fighter destroyer carrier frigate
    battleship sniper commando paratrooper camouflage dogtag medal purple terrorism insurgency espionage
    sabotage
        """,
    ),
    "religion": (
        "beliefs history symbols prayer verses scripture meaning holy",
        """
    christianity judaism islam buddhism hinduism taoism confucianism sikhism shinto wicca paganism atheism
    catholicism protestantism mormonism methodist baptist lutheran presbyterian episcopal pentecostal
    quaker amish bible gospel psalm proverb torah talmud koran veda prayer rosary communion baptism
    sacrament confession sermon pastor priest minister rabbi imam monk nun bishop cardinal pope saint
    angel demon heaven hell purgatory resurrection apocalypse prophecy miracle church synagogue mosque
    chapel altar crucifix chalice missionary parable commandment disciple apostle
        """,
    ),
    "language": (
        "translation dictionary grammar phrases alphabet words lessons",
        """
    english spanish french german italian portuguese russian polish czech hungarian greek latin arabic
    hebrew turkish persian hindi chinese mandarin cantonese japanese korean vietnamese tagalog swahili
    gaelic esperanto grammar verb noun pronoun adjective adverb preposition conjunction punctuation comma
    apostrophe semicolon spelling vocabulary synonym antonym homonym idiom slang accent dialect alphabet
    cursive handwriting shorthand braille sign translation interpreter
        """,
    ),
    "school": (
        "admissions tuition scholarship requirements homework worksheets curriculum grades test plans",
        """
    kindergarten preschool elementary university college seminary academy dormitory fraternity sorority
    professor teacher tutor principal counselor student freshman sophomore valedictorian diploma degree
    bachelor doctorate dissertation thesis transcript scholarship tuition grant loan enrollment
    registration curriculum syllabus lecture homework quiz exam essay report bibliography footnote
    plagiarism multiplication division fraction decimal percentage equation geometry phonics reading
    comprehension spelling cafeteria recess playground backpack chalkboard yearbook homeschool truancy
    detention literacy
        """,
    ),
    "math": (
        "formula calculator worksheets problems table graph definition",
        """
    triangle rectangle parallelogram trapezoid pentagon hexagon octagon circle ellipse parabola hyperbola
    sphere cylinder cone cube prism tetrahedron polygon angle radius diameter circumference perimeter area
    volume integer prime factor exponent logarithm square cubic matrix vector determinant derivative
    integral limit series permutation median mean variance deviation correlation regression histogram
    theorem proof axiom fractal
        """,
    ),
    "government": (
        "forms office records benefits application phone office laws",
        """
    president senator congressman governor mayor sheriff judge magistrate alderman ambassador diplomat
    legislature congress parliament ballot referendum primary caucus campaign lobbyist constitution
    amendment bill statute ordinance veto impeachment census passport citizenship naturalization
    immigration deportation welfare medicare medicaid unemployment disability pension treasury tariff
    subsidy deficit budget zoning permit license courthouse firefighter policeman postmaster postage
    zipcode notary
        """,
    ),
    "law": (
        "lawyer attorney forms rights statute cases legal laws advice",
        """
    custody alimony divorce annulment adoption guardianship probate inheritance trust estate deed lien
    foreclosure eviction lease tenant landlord bankruptcy garnishment lawsuit litigation arbitration
    mediation malpractice negligence liability slander libel copyright trademark patent contract warranty
    subpoena affidavit deposition testimony verdict appeal parole probation bail felony misdemeanor
    larceny burglary robbery embezzlement forgery fraud arson assault battery kidnapping homicide
    manslaughter perjury bribery extortion blackmail stalking harassment discrimination trespassing
    vandalism inmate prison jail warrant fingerprint forensics
        """,
    ),
}
