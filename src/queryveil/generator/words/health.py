"""Topics about body, illness and care, with the facets people add. Written for queryveil."""

from __future__ import annotations

from typing import Final

# topic -> (words that searchers add, nouns of the topic)
TOPICS: Final[dict[str, tuple[str, str]]] = {
    "disease": (
        "symptoms treatment causes cure prevention diagnosis stages research support medicine",
        """
    asthma diabetes influenza pneumonia bronchitis tuberculosis malaria cholera typhoid measles mumps
    rubella chickenpox smallpox polio tetanus rabies hepatitis cirrhosis jaundice leukemia lymphoma
    melanoma carcinoma sarcoma glioma cancer tumor anemia hemophilia thalassemia arthritis osteoporosis
    rickets gout lupus scleroderma fibromyalgia psoriasis eczema dermatitis rosacea vitiligo acne shingles
    herpes syphilis gonorrhea chlamydia epilepsy migraine meningitis encephalitis sclerosis parkinsonism
    dementia stroke aneurysm embolism thrombosis hypertension atherosclerosis angina arrhythmia
    endocarditis cardiomyopathy emphysema fibrosis silicosis pleurisy sinusitis tonsillitis laryngitis
    glaucoma cataract conjunctivitis scurvy beriberi pellagra celiac colitis gastritis diverticulitis
    appendicitis pancreatitis gallstones nephritis cystitis endometriosis goiter hypothyroidism
    hyperthyroidism anthrax plague leprosy dengue ebola botulism salmonella giardia ringworm scabies lice
    toxoplasmosis mononucleosis pertussis diphtheria sepsis gangrene sciatica scoliosis hernia autism
    narcolepsy apnea vertigo tinnitus
        """,
    ),
    "symptom": (
        "relief remedy causes pain children chronic severe sudden",
        """
    headache fever cough nausea fatigue dizziness rash itching swelling bruising cramps heartburn bloating
    constipation diarrhea indigestion vomiting insomnia snoring numbness tingling tremor palpitations
    wheezing hoarseness congestion sneezing chills sweating dehydration blister bunion callus corn wart
    mole cyst boil abscess ulcer hives sunburn frostbite sprain fracture concussion whiplash backache
    toothache earache nosebleed hiccups dandruff hemorrhoids incontinence jaundice paralysis seizure
    fainting soreness stiffness spasm inflammation infection allergy hangover overdose poisoning bleeding
    discharge odor
        """,
    ),
    "anatomy": (
        "diagram function pain injury surgery anatomy location",
        """
    heart liver kidney spleen pancreas stomach bladder gallbladder colon intestine appendix esophagus
    trachea larynx lung diaphragm thyroid pituitary adrenal ovary uterus prostate testicle cervix vagina
    penis breast nipple shoulder elbow wrist knuckle thumb finger hip knee ankle heel toe calf thigh
    hamstring quadriceps biceps triceps deltoid abdomen pelvis femur tibia fibula humerus radius ulna
    clavicle scapula sternum rib spine vertebra skull jaw tooth tongue gum palate cheek forehead eyelid
    cornea retina iris pupil eardrum cochlea nostril scalp artery vein aorta capillary tendon ligament
    cartilage nerve cerebellum cortex hypothalamus skeleton muscle skin
        """,
    ),
    "medicine": (
        "dosage overdose interactions generic withdrawal tablets prescription online warnings effects",
        """
    aspirin ibuprofen acetaminophen codeine morphine oxycodone hydrocodone methadone penicillin
    amoxicillin tetracycline erythromycin insulin steroid cortisone prednisone antihistamine antibiotic
    antidepressant sedative diuretic laxative antacid vaccine anesthetic stimulant amphetamine barbiturate
    caffeine nicotine melatonin estrogen testosterone progesterone warfarin heparin statin digitalis
    lithium quinine placebo ointment inhaler syringe lozenge tranquilizer decongestant expectorant
    antiseptic antidote contraceptive analgesic opiate cannabis cocaine heroin ecstasy ketamine mescaline
        """,
    ),
    "therapy": (
        "therapy training clinic certification classes benefits cost near",
        """
    acupuncture massage chiropractic physiotherapy hypnosis homeopathy aromatherapy reflexology meditation
    yoga pilates psychotherapy counseling chemotherapy radiation dialysis transplant bypass liposuction
    facelift rhinoplasty mastectomy hysterectomy vasectomy circumcision amputation biopsy colonoscopy
    mammogram ultrasound transfusion vaccination immunization rehabilitation detox hospice surgery
    orthodontics dentures braces implants hospital ambulance nurse surgeon dentist pediatrician
    psychiatrist psychologist dermatologist cardiologist oncologist radiologist pharmacist optometrist
    midwife paramedic veterinarian caregiver
        """,
    ),
    "nutrition": (
        "diet benefits foods calories deficiency supplements chart plan",
        """
    protein fiber carbohydrate cholesterol calcium iron zinc magnesium potassium sodium selenium iodine
    vitamin antioxidant folate niacin riboflavin thiamine biotin glucose fructose lactose gluten starch
    calorie metabolism appetite weight obesity anorexia bulimia fasting vegetarian vegan supplement
    multivitamin ginseng echinacea creatine glutamine electrolyte probiotic enzyme amino omega flaxseed
    soy whey spirulina detoxification smoothie juicing portion snack breakfast lunch dinner nutritionist
    dietitian hunger thirst hydration
        """,
    ),
    "pregnancy": (
        "week signs tips complications advice calculator stages",
        """
    pregnancy ovulation conception fertility infertility miscarriage abortion ultrasound trimester fetus
    embryo placenta contraction labor delivery cesarean epidural midwifery doula breastfeeding formula
    lactation newborn infant preemie twins triplets toddler teething colic diaper pacifier bottle stroller
    crib bassinet cradle nursery layette swaddle rattle teether highchair playpen babysitter nanny daycare
    adoption surrogate motherhood fatherhood parenting tantrum potty bedtime lullaby
        """,
    ),
    "mind": (
        "disorder test help therapy signs coping support causes",
        """
    anxiety depression schizophrenia bipolar obsession compulsion phobia panic trauma grief anger stress
    insomnia hallucination delusion paranoia psychosis neurosis mania narcissism psychopathy addiction
    alcoholism gambling kleptomania pyromania suicide loneliness shyness jealousy guilt shame envy rage
    boredom apathy burnout amnesia dyslexia hyperactivity stuttering memory concentration motivation
    confidence esteem intuition personality temperament introvert extrovert ego subconscious dream
    nightmare sleepwalking hypnosis cognition perception emotion happiness empathy resilience mindfulness
        """,
    ),
    "beauty": (
        "tips products salon styles sale pictures reviews ideas",
        """
    lipstick mascara eyeliner eyeshadow foundation concealer blush powder moisturizer cleanser toner
    exfoliator sunscreen lotion shampoo conditioner hairspray gel mousse perfume cologne deodorant razor
    tweezers wax manicure pedicure polish haircut hairstyle highlights perm braid ponytail curls bangs wig
    extensions beard mustache goatee sideburns tattoo piercing tanning botox collagen wrinkle freckle
    dimple eyebrow eyelash facial sauna spa barber stylist hairdresser makeover soap bubble bath loofah
        """,
    ),
}
