"""Abbreviations after whose full stop a sentence may go on, of all of Kokoro's languages.

Those in lower case may be written in capitals too. What is a word in one of the languages is left out.
"""


def _words(table: str) -> frozenset[str]:
    return frozenset(table.split())


BEFORE_NAMES = _words(
    """
    adm arq atty avv brig capt cdr cel cmdr cpl dott dottssa dr dra dras drs exma exmo gob gov hr ilma ilmo
    insp lic ltd.col messrs mgr mlle mlles mme mmes mons mr mrs ms mss mt mx pres prof profa profssa psicol
    revd sgt sigg sig.na sig.ra sigra sra sras sres srta srtas ste supt v.cte
    e.g i.e cf viz vs p.ex ad.es
    Col Com Dir Dom Eng Esp Fr Ft Gen Hon Ing Lt M MM Maj Me On Rag Rep Rev Rt Sen Sig ing sig
    डॉ प्रो श्री पं कु मि
    """
)
"""A name follows, or something else that belongs to it."""
BEFORE_NUMBERS = _words(
    """
    abb app art arts b c cap caps ch cl cra d eq est ext exts fig figs fl fn fol max min n° nº no nos nr
    nro núm núms num p pp pág págs pag pagg par párr párrf pgs pl r ref rm rs sec sect sez tab tel tél telef
    tfno tít tit vers vol vols
    ene feb mar abr jun jul sept oct nov dic gen mag giu lug ott déc janv févr juil lun jue vie sáb
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Set Ago Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun
    रु सं
    """
)
"""A sentence goes on if a number follows."""
AT_ENDS = _words("a.m p.m etc ecc km kg cm mm hr hrs mins seg mph ft oz lb lbs yd")
"""A sentence ends if a capital letter follows."""
BEFORE_CAPITALS = _words(
    """
    abbr acad admón aka approx apt assn assoc asst av ave bldg blvd bros btw ca cia cie co conf corp ctr
    dept depto dist dpto ee eds encl esq fwy govt hwy ibid inc incl inst intl jnr jr ln ltd ltda mfg mtn
    natl pt rd reg snr soc sr srl st sta sto sté univ uu v yr
    एम एन एस एल एच आर बी सी डी एफ ए
    """
)
"""A sentence ends if one of the words follows that often begin one. So it is after initials, too."""
FIRST_WORDS = _words(
    """
    A After All Although An And Any Are As At Because Before Both But By Can Could Did Do Does Each Even
    Every Finally First For From Had Has Have He Her Here His How However I If In Is It Its Later Let Many
    Maybe Meanwhile Most My Next No Not Now On Once One Or Other Our Perhaps Please She Should Since So Some
    Soon Still Such Thank Thanks That The Their Then There These They This Those Though Thus To Today Tomorrow
    Was We Well Were What When Where Whether Which While Who Why Will With Would Yes Yesterday Yet You Your
    Al Algunos Así Aunque Como Con Cómo Cuando Cuándo Del Después Dónde El Él Ella Ellos En Entonces Era Es
    Esa Ese Eso Está Esta Estas Este Esto Estos Fue Hay La Las Le Lo Los Más Muy Nos Nuestra Nuestro
    Para Pero Por Porque Que Qué Quién Se Según Si Sí Sin Sobre Su Sus También Tengo Todo Todos Tú Un
    Una Unos Usted Ustedes Y Ya Yo
    Ainsi Alors Après Au Aussi Aux Avant Avec C Ce Ceci Cela Ces Cet Cette Chaque Comment Dans Depuis Elle
    Elles Est Et Ils Il J Je L Les Leur Leurs Mais Mon Même Ne Nous On Où Pour Pourquoi Puis Quand Quel Quelle
    Qui Selon Ses Sous Sur Ta Tous Tout Toutes Une Vous À
    Adesso Anche Che Chi Ci Dopo Dove È Ecco Gli Io Il Invece Le Lui Noi Non Ora Per Perché Però
    Poi Prima Quando Quanto Quella Quello Questa Questo Qui Se Sei Siamo Sono Tutti Un Uno Voi
    Agora Ainda Ao Aos As Com Ela Elas Ele Eles Em Então Essa Esse Eu Foi Isso Isto Já Mas Muito Não Nas
    Nós O Onde Os Ou Pela Pelo Quem São Também Tem Tudo Um Uma Você Vocês É
    """
)
