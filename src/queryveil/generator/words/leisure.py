"""Topics about sport, play, art and travel, with the facets people add. Written for queryveil."""

from __future__ import annotations

from typing import Final

# topic -> (words that searchers add, nouns of the topic)
TOPICS: Final[dict[str, tuple[str, str]]] = {
    "sport": (
        "scores rules tickets equipment league schedule drills coaching camp history",
        """
    baseball basketball football soccer hockey lacrosse rugby cricket tennis badminton squash racquetball
    volleyball softball golf bowling billiards snooker darts archery fencing boxing wrestling judo karate
    taekwondo aikido jujitsu kickboxing sumo gymnastics trampoline cheerleading skating skiing
    snowboarding sledding luge bobsled curling biathlon triathlon pentathlon decathlon marathon sprint
    hurdles javelin discus shotput cycling motocross rodeo polo equestrian dressage steeplechase rowing
    canoeing kayaking sailing yachting windsurfing surfing wakeboarding waterskiing swimming diving
    snorkeling scuba skydiving paragliding bungee rappelling climbing mountaineering hiking backpacking
    orienteering skateboarding rollerblading paintball handball croquet shuffleboard weightlifting
    bodybuilding powerlifting jogging
        """,
    ),
    "athletics": (
        "stats roster draft jersey trade salary injury coach",
        """
    quarterback linebacker lineman receiver fullback halfback kicker punter cornerback pitcher catcher
    shortstop outfielder infielder umpire referee goalie defenseman winger striker midfielder goalkeeper
    forward center coach trainer mascot cheerleader champion playoff tournament championship league roster
    draft stadium arena gymnasium racetrack ballpark scoreboard jersey helmet cleats touchdown fumble
    interception homerun strikeout dunk rebound penalty overtime trophy medal olympics superbowl pennant
    jockey racehorse bookmaker handicap
        """,
    ),
    "outdoor": (
        "gear trips rentals permits reviews maps guide sale",
        """
    camping tent campfire lantern backpack sleeping canteen compass binoculars trail campground hunting
    rifle shotgun pistol revolver ammunition holster scope decoy crossbow bow arrow deer elk moose
    pheasant quail dove fishing rod reel lure bait tackle flyfishing boat canoe kayak raft pontoon
    sailboat yacht houseboat jetski outboard propeller anchor dock marina lighthouse snowmobile snowshoe
    toboggan sled ski binding geocaching birdwatching stargazing
        """,
    ),
    "game": (
        "cheats walkthrough codes download rules online strategy review multiplayer",
        """
    chess checkers backgammon monopoly scrabble dominoes mahjong poker blackjack roulette baccarat craps
    bingo keno lottery solitaire hearts spades bridge rummy cribbage pinochle euchre canasta sudoku
    crossword hangman tetris pinball arcade joystick console simulator shooter platformer puzzle trivia
    charades dice marbles jacks hopscotch yoyo frisbee kite slot casino jackpot raffle sweepstakes wager
    cheat avatar wizard dungeon dragon ninja zombie samurai starship quest arena racer tycoon
        """,
    ),
    "music": (
        "lyrics chords tabs songs download album concert sheet history",
        """
    guitar bass ukulele banjo mandolin harp violin viola cello fiddle piano organ keyboard synthesizer
    accordion harmonica flute piccolo clarinet oboe bassoon saxophone trumpet trombone tuba cornet bugle
    drum cymbal tambourine xylophone marimba bongo bagpipe dulcimer sitar lyre recorder jazz blues rock
    reggae ska punk metal grunge techno trance disco funk soul gospel country bluegrass folk opera
    symphony concerto sonata ballad hymn lullaby anthem karaoke choir orchestra quartet conductor composer
    songwriter vocalist drummer guitarist amplifier microphone speaker turntable metronome
        """,
    ),
    "film": (
        "movie cast trailer review poster soundtrack quotes showtimes dvd",
        """
    comedy drama thriller horror western musical documentary cartoon anime animation sequel prequel
    trilogy screenplay director producer actor actress stuntman cinematography premiere theater cinema
    oscar festival sitcom soap miniseries episode rerun cable satellite broadcast anchor host celebrity
    paparazzi gossip tabloid biography vampire werewolf mummy pirate spy detective gangster cowboy
    superhero villain alien robot ghost witch mermaid princess monster dinosaur clown puppet
        """,
    ),
    "dance": (
        "lessons steps music shoes videos costumes studio",
        """
    ballet tap waltz tango foxtrot rumba salsa samba mambo swing jitterbug polka flamenco hula limbo
    breakdance ballroom choreography choreographer ballerina tutu leotard pirouette recital troupe
    rehearsal auditions stage backstage costume tuxedo
        """,
    ),
    "art": (
        "prints gallery artists posters techniques history framed museum",
        """
    painting watercolor acrylic pastel charcoal sketch drawing sculpture mural fresco portrait landscape
    abstract cubism impressionism surrealism expressionism baroque renaissance gothic romanesque
    lithograph etching engraving woodcut collage mosaic tapestry canvas easel palette brush gallery museum
    curator exhibit auction masterpiece statue bust monument graffiti cartoonist illustrator sculptor
    painter photographer photography camera tripod lens darkroom negative shutter
        """,
    ),
    "book": (
        "summary author quotes characters review free chapter study notes",
        """
    novel poem poetry sonnet haiku limerick fable fairytale myth legend folklore saga epic tragedy satire
    parody memoir autobiography diary essay anthology paperback hardcover bestseller library librarian
    bookstore bookmark author novelist poet playwright editor publisher manuscript plot protagonist
    metaphor simile alliteration irony allegory symbolism rhyme stanza prose dictionary thesaurus
    encyclopedia almanac atlas textbook magazine newspaper comic manga
        """,
    ),
    "toy": (
        "sale vintage collectible parts kids wooden values",
        """
    doll dollhouse teddy puppet robot train tricycle scooter wagon rocking slide swing sandbox trampoline
    playhouse treehouse blocks jigsaw crayon coloring stickers balloon bubble slingshot boomerang
    kaleidoscope figurine stamp coin postcard antique memorabilia autograph card marbles slinky costume
    piggybank snowglobe
        """,
    ),
    "holiday": (
        "gifts cards crafts ideas decorations songs clipart party history",
        """
    christmas hanukkah kwanzaa thanksgiving halloween easter passover ramadan valentine mardi lent advent
    birthday anniversary graduation retirement shower housewarming reunion picnic parade fireworks
    carnival fair circus festival pageant prom homecoming masquerade toast bouquet ornament wreath
    mistletoe tinsel garland stocking reindeer snowman pumpkin costume mask candy basket bunny ribbon
    wrapping invitation centerpiece pinata
        """,
    ),
    "event": (
        "planning tickets invitations schedule dates photos calendar etiquette",
        """
    wedding funeral baptism christening communion confirmation ceremony banquet reception feast ball
    concert recital conference convention seminar symposium workshop exhibition expo auction bazaar rally
    protest march demonstration election inauguration coronation summit debate tournament regatta derby
    gala fundraiser bridal bridesmaid groom usher honeymoon engagement divorce wake burial cremation
    eulogy obituary casket tombstone
        """,
    ),
    "travel": (
        "packages deals tickets reservations cheap reviews map guide discount",
        """
    airline airport flight cruise hotel motel hostel resort lodge cabin cottage villa condo timeshare
    campground beach island lagoon reef volcano canyon waterfall geyser glacier desert rainforest safari
    pilgrimage itinerary passport visa luggage suitcase backpack souvenir currency embassy consulate
    customs ferry train subway monorail trolley limousine taxi shuttle rental vacation getaway honeymoon
    excursion sightseeing castle palace cathedral temple shrine pyramid monastery zoo aquarium planetarium
    waterpark amusement rollercoaster
        """,
    ),
}
