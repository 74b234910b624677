"""Companies that people search for by name. Written for queryveil from general knowledge; no list was copied.

A name that is one plain English word (apple, target, gap) is left out when the list is loaded: a word says nothing.
"""

from __future__ import annotations

from typing import Final

COMPANIES: Final = frozenset(
    " ".join(name.split())
    for name in """
    3m, abbott laboratories, abercrombie, abercrombie fitch, accenture, adidas, adobe, advance auto parts,
    aetna, aflac, airbus, albertsons, alcoa, allianz, allstate, amazon, amc theatres, american airlines,
    american eagle, american express, american family insurance, ameriprise, amgen, amtrak, anheuser busch,
    ann taylor, anthem blue cross, aol, apple, apple computer, apple store, arbys, archer daniels midland,
    ashley furniture, astrazeneca, at&t, audi, autonation, autozone, avis, avon products, banana republic,
    bank of america, bank one, barclays, barnes & noble, barnes and noble, bath & body works,
    bath and body works, bayer, bcbg, bear stearns, bed bath & beyond, bed bath and beyond, bell atlantic,
    bellsouth, berkshire hathaway, best buy, best western, bj's wholesale, blackberry, blackrock,
    blockbuster video, bloomingdales, blue cross blue shield, bmw, boeing, bombardier, borders books, bosch,
    boston market, boston scientific, bristol myers squibb, british airways, budget rent a car, buick,
    burger king, burlington coat factory, cablevision, cadillac, campbell soup, capital one, cargill, carmax,
    carnival cruise, caterpillar tractor, cbs, century 21, charles schwab, charter communications, chase bank,
    chase manhattan, chevrolet, chevron, chevy, chick fil a, chilis restaurant, chipotle, chrysler, cigna,
    circuit city, cisco, citgo, citibank, citigroup, citizens bank, clear channel, coca cola, cocacola,
    colgate palmolive, comcast, commerce bank, compaq, compusa, conagra, conocophillips, continental airlines,
    costco, countrywide, cox communications, craigslist, credit suisse, cvs, daimler, daimlerchrysler,
    dairy queen, dell, dell computer, deloitte, delphi automotive, delta air lines, delta airlines,
    deutsche bank, dhl, dicks sporting goods, dillards, directv, dish network, disney, dodge trucks,
    dollar general, dollar tree, dominos, dominos pizza, dow chemical, dr horton, duke energy, dunkin donuts,
    dupont, dynegy, e trade, earthlink, eastman kodak, ebay, edward jones, electronic arts, eli lilly, emc,
    enron, enterprise rent a car, ernst & young, ernst and young, espn, estee lauder, ethan allen, etrade,
    exelon, expedia, exxon, exxon mobil, exxonmobil, facebook, family dollar, fannie mae, farmers insurance,
    fedex, fidelity investments, fifth third bank, food lion, foot locker, ford motor, fox news, freddie mac,
    frigidaire, frito lay, fujitsu, gamestop, gateway computer, geico, general dynamics, general electric,
    general mills, general motors, gillette, glaxosmithkline, gmac, godaddy, goldman sachs, goodyear, google,
    groupon, halliburton, hallmark cards, hampton inn, harley davidson, harris teeter, hasbro, heinz, hershey,
    hertz, hewlett packard, hewlett-packard, hilton hotels, hitachi, hobby lobby, holiday inn, home depot,
    honda, honeywell, hotmail, hp, hsbc, humana, hyatt, hyundai, ibm, ihop, ikea, infosys, ing direct, intel,
    international paper, intuit, invesco, isuzu, j crew, jc penney, jcpenney, jetblue, jiffy lube,
    joann fabrics, john deere, john hancock, johnson & johnson, johnson and johnson, johnson controls,
    jp morgan, jpmorgan, kaiser permanente, kay jewelers, kellogg, kfc, kia motors, kimberly clark, kmart,
    kodak, kohls, kpmg, kraft foods, krispy kreme, kroger, kyocera, la quinta, lands end, lego, lehman brothers,
    lenscrafters, level 3 communications, levi strauss, lexmark, lexus, lg electronics, liberty mutual,
    linens n things, linkedin, little caesars, liz claiborne, ll bean, lockheed martin, logitech, loreal, lowes,
    lucent, lufthansa, lululemon, macys, marathon oil, marriott, mary kay, massmutual, mastercard, mattel,
    maytag, mazda, mcafee, mcdonalds, mcdonnell douglas, mci, mckesson, medco, medtronic, mellon bank,
    mens wearhouse, mercedes, merck, mercury insurance, merrill lynch, metlife, microsoft, mitsubishi, monsanto,
    monster.com, morgan stanley, motorola, msn, mtv, mutual of omaha, myspace, nabisco, nasdaq,
    national city bank, nationwide insurance, nbc, neiman marcus, nestle, netflix, netscape, new york life,
    newell rubbermaid, nike, nintendo, nissan, nokia, nordstrom, norfolk southern, nortel, northrop grumman,
    northwest airlines, northwestern mutual, novartis, nvidia, office depot, officemax, old navy, olive garden,
    omaha steaks, oracle database, orbitz, oscar mayer, outback steakhouse, overstock, panasonic, panera,
    papa johns, paramount pictures, paychex, paypal, pepsi, pepsico, petco, petsmart, pfizer, philip morris,
    piggly wiggly, pizza hut, pnc bank, polaroid, pontiac, porsche, pottery barn, priceline,
    pricewaterhousecoopers, procter & gamble, procter and gamble, progressive insurance, prudential, publix,
    quaker oats, qualcomm, quest diagnostics, qvc, qwest, radio shack, radioshack, ralph lauren, raytheon,
    re/max, red lobster, reebok, regions bank, remax, rite aid, royal caribbean, rubbermaid, ruby tuesday,
    ryder truck, safeway, saks fifth avenue, salesforce, sallie mae, sams club, samsung, sanyo, sara lee, sbc,
    schlumberger, schwab, scottrade, sears, sega, shell oil, sherwin williams, sherwin-williams, siemens,
    skechers, smithfield foods, sony, southwest airlines, spirit airlines, sprint nextel, sprint pcs, staples,
    starbucks, state farm, state street bank, subaru, subway restaurant, sun microsystems, suntrust, supervalu,
    suzuki, symantec, sysco, t mobile, t-mobile, taco bell, target store, target stores, td ameritrade, td bank,
    tesla motors, texaco, texas instruments, tgi fridays, thomson reuters, tiaa cref, ticketmaster,
    tiffany & co, time warner, tj maxx, tjmaxx, tmobile, toshiba, toyota, toys r us, trader joes,
    travelers insurance, travelocity, tripadvisor, true value, twitter, tyson foods, u haul, uhaul, unilever,
    union pacific, unisys, united airlines, united healthcare, united parcel service, unitedhealth, ups,
    us airways, us bancorp, us bank, us steel, usaa, valero, vanguard funds, verizon, viacom, victoria's secret,
    victorias secret, visa card, volkswagen, volvo, wachovia, wal mart, wal-mart, walgreen, walgreens, walmart,
    walt disney, warner bros, warner brothers, washington mutual, waste management, wellpoint, wells fargo,
    wendys, western union, westinghouse, weyerhaeuser, whirlpool appliances, whole foods, williams sonoma,
    winn dixie, xerox, yahoo, yamaha, zales, zappos
    """.replace("\n", " ").split(",")
)
