"""Names of people and places. Written for queryveil."""

from __future__ import annotations

from typing import Final

from queryveil.generator.words.listed import listed

FIRST_NAMES: Final[tuple[str, ...]] = listed(
    """
    james john robert michael william david richard joseph thomas charles christopher daniel matthew
    anthony donald mark paul steven andrew kenneth george joshua kevin brian edward ronald timothy jason
    jeffrey ryan gary nicholas eric stephen jonathan larry justin scott frank brandon raymond gregory
    benjamin samuel patrick alexander jack dennis jerry tyler aaron henry douglas peter jose adam zachary
    nathan walter harold kyle carl arthur gerald roger keith jeremy terry lawrence sean christian albert
    joe ethan austin jesse willie billy bryan bruce jordan ralph roy noah dylan eugene wayne alan juan
    louis russell gabriel randy philip harry vincent bobby johnny logan mary patricia jennifer linda
    elizabeth barbara susan jessica sarah karen nancy margaret lisa betty dorothy sandra ashley kimberly
    donna emily michelle carol amanda melissa deborah stephanie rebecca laura sharon cynthia kathleen amy
    shirley angela helen anna brenda pamela nicole ruth katherine samantha christine catherine virginia
    debra rachel janet emma carolyn maria heather diane julie joyce evelyn joan victoria kelly christina
    lauren frances martha judith cheryl megan andrea olivia ann jean alice jacqueline hannah doris kathryn
    gloria teresa sara janice marie julia grace judy theresa rose beverly denise marilyn amber danielle
    brittany diana abigail jane natalie lori tiffany alexis kayla
    """
)

LAST_NAMES: Final[tuple[str, ...]] = listed(
    """
    smith johnson williams brown jones miller davis garcia rodriguez wilson martinez anderson taylor
    thomas hernandez moore martin jackson thompson white lopez lee gonzalez harris clark lewis robinson
    walker perez hall young allen sanchez wright king scott green baker adams nelson hill ramirez campbell
    mitchell roberts carter phillips evans turner torres parker collins edwards stewart flores morris
    nguyen murphy rivera cook rogers morgan peterson cooper reed bailey bell gomez kelly howard ward cox
    diaz richardson wood watson brooks bennett gray james reyes cruz hughes price myers long foster
    sanders ross morales powell sullivan russell ortiz jenkins gutierrez perry butler barnes fisher
    henderson coleman simmons patterson jordan reynolds hamilton graham kim gonzales alexander ramos
    wallace griffin west cole hayes chavez gibson bryant ellis stevens murray ford marshall owens mcdonald
    harrison ruiz kennedy wells alvarez woods mendoza castillo olson webb washington tucker freeman burns
    henry vasquez snyder simpson crawford jimenez porter mason shaw gordon wagner hunter romero hicks
    dixon hunt palmer robertson black holmes stone meyer boyd mills warren fox rose rice moreno schmidt
    patel ferguson nichols herrera medina ryan fernandez weaver daniels stephens gardner payne kelley dunn
    pierce arnold tran spencer peters hawkins grant hansen castro hoffman hart elliott cunningham knight
    bradley
    """
)

STATES: Final[tuple[str, ...]] = listed(
    """
    alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho
    illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota
    mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah
    vermont virginia washington wisconsin wyoming al ak az ar ca co ct fl ga id il ky la ma md mi mn mo ms
    mt nc nd ne nh nj nm nv ny pa sc sd tn tx ut va wa wi wv
    """
)

CITIES: Final[tuple[str, ...]] = listed(
    """
    chicago houston phoenix philadelphia dallas austin jacksonville columbus charlotte seattle denver
    boston nashville detroit portland memphis louisville baltimore milwaukee albuquerque tucson fresno
    sacramento atlanta omaha raleigh miami oakland minneapolis tulsa tampa orlando cleveland pittsburgh
    cincinnati anchorage greensboro newark toledo buffalo lincoln honolulu savannah charleston richmond
    spokane tacoma boise reno scottsdale birmingham knoxville providence hartford london paris rome madrid
    berlin vienna prague dublin amsterdam lisbon athens cairo tokyo bangkok sydney toronto vancouver
    montreal cancun acapulco
    """
)

STREETS: Final[tuple[str, ...]] = listed(
    """
    oak maple cedar pine elm walnut chestnut birch willow hickory main church mill school center
    washington lincoln jefferson madison monroe jackson franklin park lake river hill spring forest meadow
    prospect highland sunset valley orchard garden
    """
)
