"""Topics about food, house, garden and craft, with the facets people add. Written for queryveil."""

from __future__ import annotations

from typing import Final

# topic -> (words that searchers add, nouns of the topic)
TOPICS: Final[dict[str, tuple[str, str]]] = {
    "food": (
        "recipe recipes sauce baked grilled easy nutrition calories homemade frozen",
        """
    chicken beef pork lamb veal turkey duck goose venison rabbit bacon ham sausage salami pepperoni
    meatball meatloaf steak brisket ribs roast stew chili casserole lasagna spaghetti macaroni ravioli
    linguine fettuccine gnocchi noodle rice risotto paella couscous quinoa barley oatmeal granola pancake
    waffle crepe omelet quiche frittata burrito taco enchilada quesadilla tamale nachos salsa guacamole
    hummus falafel kebab gyro curry sushi tempura tofu dumpling wonton soup chowder bisque broth gumbo
    jambalaya sandwich hamburger hotdog pizza calzone biscuit gravy stuffing coleslaw salad crouton
    dressing mayonnaise mustard ketchup relish pickle vinegar marinade
        """,
    ),
    "baking": (
        "recipe mix frosting pan flour easy homemade decorating",
        """
    bread bagel muffin scone croissant doughnut pretzel cracker cookie brownie cupcake cake cheesecake
    shortcake gingerbread fruitcake pie tart cobbler strudel pastry eclair meringue custard pudding mousse
    fudge truffle caramel toffee marshmallow nougat praline brittle icing glaze filling crust dough yeast
    flour sugar molasses syrup honey vanilla cinnamon nutmeg cocoa chocolate butterscotch peppermint
    licorice lollipop gumdrop jellybean candy sherbet sorbet gelato sundae milkshake whisk spatula sifter
    rolling parchment oven
        """,
    ),
    "produce": (
        "salad recipes growing season juice nutrition fresh organic",
        """
    apple pear peach plum apricot cherry grape strawberry raspberry blueberry blackberry cranberry
    gooseberry currant fig date prune raisin orange lemon lime grapefruit tangerine kumquat pineapple
    mango papaya guava kiwi banana coconut pomegranate persimmon melon cantaloupe watermelon avocado
    tomato potato yam carrot parsnip turnip rutabaga beet radish onion shallot leek garlic celery fennel
    asparagus artichoke broccoli cauliflower cabbage kale spinach chard lettuce arugula endive cucumber
    zucchini squash pumpkin eggplant okra pea bean lentil chickpea corn mushroom rhubarb almond walnut
    pecan cashew pistachio hazelnut peanut chestnut macadamia
        """,
    ),
    "herb": (
        "plant tea uses drying seeds dried fresh oil",
        """
    basil oregano thyme rosemary sage parsley cilantro dill mint tarragon chive marjoram bay lavender
    chamomile saffron turmeric ginger cumin coriander cardamom clove anise paprika cayenne pepper salt
    wasabi horseradish sesame poppy allspice juniper lemongrass sorrel chervil savory hyssop borage
    comfrey yarrow valerian feverfew catnip
        """,
    ),
    "drink": (
        "recipe brands calories glasses party mix bottle",
        """
    coffee espresso cappuccino latte mocha tea lemonade cider soda cola cocktail martini margarita mojito
    daiquiri cosmopolitan sangria punch eggnog wine champagne merlot chardonnay cabernet riesling sherry
    port brandy cognac whiskey bourbon scotch vodka gin rum tequila absinthe vermouth liqueur beer ale
    lager stout pilsner mead sake juice milk buttermilk cream water seltzer tonic keg corkscrew decanter
    goblet tumbler mug pitcher thermos teapot kettle percolator
        """,
    ),
    "seafood": (
        "recipes grilled fried season market fishing",
        """
    salmon trout tuna halibut cod haddock flounder sole tilapia catfish bass perch walleye pike carp
    herring sardine anchovy mackerel swordfish shark grouper snapper eel squid octopus calamari shrimp
    prawn lobster crab crayfish clam oyster mussel scallop abalone caviar roe seaweed crawfish bluegill
    crappie marlin tarpon sturgeon
        """,
    ),
    "dairy": (
        "recipe brands substitute making low fat",
        """
    cheese cheddar mozzarella parmesan gouda brie feta ricotta provolone gorgonzola camembert butter
    margarine yogurt kefir whey curd custard casein egg yolk dairy goat churn
        """,
    ),
    "kitchen": (
        "set stainless parts repair replacement cleaning reviews sale",
        """
    refrigerator freezer dishwasher microwave stove range cooktop toaster blender mixer juicer grinder
    skillet saucepan wok griddle roaster steamer fryer grill smoker barbecue colander strainer grater
    peeler ladle tongs cleaver knife fork spoon chopsticks plate bowl platter saucer napkin tablecloth
    placemat apron canister cupboard countertop backsplash faucet sink disposal pantry cutlery crockpot
    rotisserie thermometer timer corkboard
        """,
    ),
    "furniture": (
        "plans antique leather wood modern discount covers sets",
        """
    sofa couch loveseat recliner armchair rocker ottoman futon mattress headboard bunk dresser wardrobe
    armoire nightstand bookcase bookshelf desk hutch credenza sideboard buffet cabinet table stool bench
    chaise hammock chandelier lamp lampshade sconce mirror clock vase rug carpet curtain drapes blinds
    shutters pillow cushion blanket quilt comforter duvet bedspread sheet bedroom hallway foyer attic
    basement
        """,
    ),
    "garden": (
        "seeds care pruning planting pests nursery ideas zone",
        """
    rose tulip daffodil lily orchid iris daisy sunflower marigold petunia geranium begonia impatiens pansy
    violet carnation chrysanthemum dahlia zinnia aster hydrangea azalea rhododendron camellia gardenia
    jasmine honeysuckle wisteria clematis ivy fern hosta peony hibiscus magnolia dogwood lilac forsythia
    boxwood holly juniper cactus succulent bonsai bamboo lawn sod mulch compost fertilizer pesticide
    herbicide sprinkler hose trellis arbor gazebo pergola greenhouse birdbath birdhouse wheelbarrow rake
    shovel hoe trowel pruner mower trimmer chainsaw hedge shrub perennial annual bulb seedling topsoil
        """,
    ),
    "tree": (
        "bark wood leaves identification disease planting lumber",
        """
    oak maple elm birch beech ash hickory poplar willow sycamore cottonwood aspen alder cedar pine spruce
    fir hemlock redwood sequoia cypress eucalyptus acacia mahogany teak ebony rosewood walnut mesquite
    palm baobab ginkgo mulberry hawthorn sassafras sumac tamarack larch yew linden locust catalpa
    driftwood sapling orchard timber lumber sawmill acorn
        """,
    ),
    "repair": (
        "repair installation cost contractor kit tools estimate leaking",
        """
    roof shingle gutter siding insulation drywall plaster stucco brick mortar concrete cement asphalt
    driveway patio deck porch fence gate garage carport shed foundation chimney fireplace furnace boiler
    thermostat radiator duct plumbing pipe drain toilet bathtub shower tile grout caulk paint primer stain
    varnish wallpaper paneling molding baseboard hardwood laminate linoleum vinyl door doorknob hinge
    deadbolt lock window skylight awning staircase banister railing elevator wiring outlet breaker
    generator septic well pump sump mold termite asbestos radon
        """,
    ),
    "tool": (
        "set used cordless parts manual bench best rental",
        """
    hammer screwdriver wrench pliers drill saw jigsaw router lathe sander planer chisel clamp vise level
    ruler caliper micrometer crowbar hatchet axe mallet anvil forge welder torch solder compressor nailer
    stapler ladder scaffold toolbox workbench sawhorse nail screw bolt nut washer rivet bracket pulley
    winch jack hoist crane forklift backhoe bulldozer excavator tractor trailer auger trencher
        """,
    ),
    "cleaning": (
        "cleaner removal service tips best homemade supplies",
        """
    vacuum broom mop sponge bucket detergent bleach ammonia starch iron laundry washer dryer hamper
    clothesline dustpan duster polish wax disinfectant deodorizer stain grease rust mildew dust lint odor
    garbage trash recycling landfill dumpster janitor maid housekeeper clutter organizer closet hanger
        """,
    ),
    "pet": (
        "breeders training rescue food names adoption puppies care grooming",
        """
    poodle beagle labrador retriever dachshund chihuahua terrier spaniel bulldog boxer rottweiler doberman
    mastiff collie sheepdog husky malamute dalmatian greyhound bloodhound whippet pug corgi schnauzer
    pomeranian maltese shepherd hound mutt puppy kitten cat tabby calico siamese persian hamster gerbil
    guinea ferret chinchilla hedgehog parakeet cockatiel cockatoo macaw parrot canary finch goldfish
    aquarium terrarium iguana gecko python turtle tarantula leash collar kennel litter flea tick heartworm
    mange neuter
        """,
    ),
    "sewing": (
        "patterns kit supplies free machine projects beginners",
        """
    quilt embroidery crochet knitting yarn needle thimble bobbin zipper button hem seam pleat ruffle
    applique patchwork macrame lace felt fabric cotton linen silk wool cashmere velvet satin denim
    corduroy flannel fleece tweed polyester nylon spandex chenille muslin gingham burlap loom spinning
    weaving dyeing batik origami scrapbook decoupage stencil pottery ceramics kiln beads beading candle
    soapmaking woodcarving calligraphy mosaic
        """,
    ),
}
