"""Words of any topic, and queries that are not ASCII. Written for queryveil."""

from __future__ import annotations

from typing import Final

from queryveil.generator.words.listed import listed

FACETS: Final[tuple[str, ...]] = listed(
    """
    free online pictures history cheap best used new sale reviews ideas tips price forum jobs store
    wholesale games books videos photos clipart club association facts information parts prices questions
    guide kits list names news
    """
)

ADJECTIVES: Final[tuple[str, ...]] = listed(
    """
    antique automatic baby beautiful big black blue broken brown bulk cheap chinese classic clear cold
    colonial colorful comfortable common compact complete custom cute dark decorative deep digital
    discount double dry easy electric elegant empty english european exotic extreme famous fancy fast flat
    folding french fresh funny giant glass gold golden gourmet green handmade healthy heavy herbal
    historic homemade hot huge illegal imported indian inexpensive irish italian japanese large leather
    light little local long loud low lucky magnetic manual mechanical medieval metal mexican miniature
    modern natural naughty old orange organic original outdoor oversized painless personalized pink plain
    plastic popular portable powerful pretty professional purple quick quiet rare raw red refurbished
    retro romantic round rubber rustic safe scary secret sharp shiny short silent simple single slow small
    smart smooth soft solar solid sour southern spanish special spicy square stainless steel strange
    strong sweet tall temporary thick thin tiny traditional tropical ugly ultimate unique unusual upside
    vintage violent warm waterproof weird western wet white wild wireless wooden yellow young
    """
)

VERBS: Final[tuple[str, ...]] = listed(
    """
    make build buy sell fix clean cook grow draw paint remove install replace repair choose measure
    identify prevent treat stop start learn teach train write read play sing dance ride drive fly catch
    find hide store freeze dry cut sew knit fold wrap decorate design organize plan calculate convert
    compare download copy print scan record burn edit delete recover protect lock unlock open close
    assemble clear disinfect polish refinish restore preserve pickle smoke grill bake roast boil steam
    peel slice carve feed raise breed groom tame hunt trap kill file apply register qualify negotiate
    invest save donate recycle ship pack move rent lease borrow
    """
)

QUESTIONS: Final[tuple[str, ...]] = (
    "what is a {}",
    "how much does a {} cost",
    "where to buy {}",
    "when was the first {}",
    "who invented the {}",
    "why is my {} broken",
    "what does {} mean",
    "how do you spell {}",
    "how many kinds of {}",
    "what causes {}",
    "how long does {} last",
    "is there a {}",
    "history of {}",
    "pictures of {}",
    "types of {}",
    "list of {}",
    "the best {}",
    "definition of {}",
    "meaning of {}",
    "facts about {}",
    "all about {}",
    "parts of a {}",
    "names for {}",
)

SERVICES: Final[tuple[str, ...]] = listed(
    """
    restaurants hotels weather newspaper police schools library hospital church airport mall apartments
    jobs zoo museum university attorney dentist plumber florist bakery movers theater cemetery courthouse
    bank realtor golf marina campground radio map zip
    """
)

FEARS: Final[tuple[str, ...]] = (
    "public speaking",
    *listed(
        """
    spiders heights flying clowns snakes death failure dark needles dogs crowds germs thunder blood
    commitment love cats birds intimacy success driving fire ghosts insects dentists rejection abandonment
    bridges elevators tunnels mirrors dolls butterflies moths frogs mice rats bees holes vomiting choking
    cancer pregnancy doctors hospitals flowers trees snow rain wind moon numbers men women children
    strangers food cheese buttons balloons masks fish ocean drowning falling trains buses school exams
    change aging poverty loneliness sleep night silence noise knives guns light computers telephones
        """
    ),
)

SITE_WORDS: Final[tuple[str, ...]] = listed(
    """
    mail search maps login bank games music shop travel news chat photos cards toolbar video forum
    classifieds jobs weather help
    """
)

PROFESSIONS: Final[tuple[str, ...]] = listed(
    """
    actor singer author biography pictures lyrics quotes wife obituary artist lawyer doctor senator coach
    address news movies baseball football poems paintings genealogy yearbook arrest
    """
)

FOREIGN: Final[tuple[str, ...]] = (
    "café münchen",
    "crème brûlée",
    "piñata señorita",
    "jalapeño",
    "smörgåsbord",
    "naïve fiancé",
    "résumé exposé",
    "façade",
    "cliché",
    "soufflé",
    "übersetzung wörterbuch",
    "zürich",
    "köln",
    "düsseldorf",
    "são paulo",
    "bogotá",
    "málaga",
    "españa noticias",
    "canción letra",
    "niños juegos",
    "mañana película",
    "français leçon",
    "québec",
    "élysée",
    "łódź",
    "kraków pogoda",
    "české",
    "москва погода",
    "новости россии",
    "рецепт борща",
    "музыка скачать",
    "карта санкт",
    "東京 天気",
    "京都 旅館",
    "寿司 レシピ",
    "日本 地図",
    "中文 字典",
    "北京 酒店",
    "上海 天气",
    "한국 드라마",
    "서울 날씨",
    "노래 가사",
    "ไทย อาหาร",
    "שלום תרגום",
    "قاموس عربي",
    "हिन्दी गाने",
    "αθηνα χαρτη",
    "☕ shop",
    "🎂 recipe",
    "🐶 names",
    "⚽ scores",
    "🎄 crafts",
    "tromsø",
    "reykjavík",
    "göteborg",
    "malmö",
    "brontë",
    "dvořák",
    "señor",
    "crêpe",
    "jardinière",
    "papier mâché",
    "déjà vu",
    "à la carte",
)
