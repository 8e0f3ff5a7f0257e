// Patterns and words of `runtime_min`, as `exporter/native/text_tables.py` writes them.
#pragma once

namespace kokoro::text::tables::abbreviations {
inline constexpr char BEFORE_NAMES[] =
    "Col Com Dir Dom Eng Esp Fr Gen Hon Ing Lt M MM Maj Me On Rag Rep Rev Rt Sen Sig ad.es adm arq atty a"
    "vv brig capt cdr cel cf cmdr cpl dott dottssa dr dra dras drs e.g exma exmo gob gov hr i.e ilma ilmo"
    " ing insp lic ltd.col messrs mgr mlle mlles mme mmes mons mr mrs ms mss mt mx p.ex pres prof profa p"
    "rofssa psicol revd sgt sig sig.na sig.ra sigg sigra sra sras sres srta srtas ste supt v.cte viz vs क"
    "ु डॉ पं प\340\245\215रो मि श\340\245\215री";
inline constexpr char BEFORE_NUMBERS[] =
    "Ago Apr Aug Dec Feb Fri Jan Jul Jun Mar Mon Nov Oct Sat Sep Sept Set Sun Thu Thur Thurs Tue Tues Wed"
    " abb abr app art arts cap caps ch cl cra dic déc ene eq ext exts feb fig figs fn fol févr gen giu ja"
    "nv jue juil jul jun lug lun mag mar no nos nov nr nro num n° nº núm núms oct ott p pag pagg par pgs "
    "pl pp pág págs párr párrf ref rm rs sec sect sept sez sáb tab tel telef tfno tit tél tít vers vie vo"
    "l vols रु सं";
inline constexpr char AT_ENDS[] =
    "a.m cm ecc etc ft hr hrs kg km lb lbs min mins mm mph oz p.m seg yd";
inline constexpr char BEFORE_CAPITALS[] =
    "abbr acad admón aka approx apt assn assoc asst av ave bldg blvd bros btw ca cia cie co conf corp ctr"
    " dept depto dist dpto eds ee encl esq fwy govt hwy ibid inc incl inst intl jnr jr ln ltd ltda mfg mt"
    "n natl pt rd reg snr soc sr srl st sta sto sté univ uu v yr आर ए एच एन एफ एम एल एस डी बी सी";
inline constexpr char FIRST_WORDS[] =
    "A Adesso After Agora Ainda Ainsi Al Algunos All Alors Although An Anche And Any Ao Aos Après Are As "
    "Así At Au Aunque Aussi Aux Avant Avec Because Before Both But By C Can Ce Ceci Cela Ces Cet Cette Ch"
    "aque Che Chi Ci Com Comment Como Con Could Cuando Cuándo Cómo Dans Del Depuis Después Did Do Does Do"
    "po Dove Dónde Each Ecco El Ela Elas Ele Eles Ella Elle Elles Ellos Em En Entonces Então Era Es Esa E"
    "se Eso Essa Esse Est Esta Estas Este Esto Estos Está Et Eu Even Every Finally First Foi For From Fue"
    " Gli Had Has Have Hay He Her Here His How However I If Il Ils In Invece Io Is Isso Isto It Its J Je "
    "Já L La Las Later Le Les Let Leur Leurs Lo Los Lui Mais Many Mas Maybe Meanwhile Mon Most Muito Muy "
    "My Más Même Nas Ne Next No Noi Non Nos Not Nous Now Nuestra Nuestro Não Nós O On Once Onde One Or Or"
    "a Os Other Ou Our Où Para Pela Pelo Per Perché Perhaps Pero Però Please Poi Por Porque Pour Pourquoi"
    " Prima Puis Quand Quando Quanto Que Quel Quella Quelle Quello Quem Questa Questo Qui Quién Qué Se Se"
    "gún Sei Selon Ses She Should Si Siamo Sin Since So Sobre Some Sono Soon Sous Still Su Such Sur Sus S"
    "ão Sí Ta También Também Tem Tengo Thank Thanks That The Their Then There These They This Those Thoug"
    "h Thus To Today Todo Todos Tomorrow Tous Tout Toutes Tudo Tutti Tú Um Uma Un Una Une Uno Unos Usted "
    "Ustedes Você Vocês Voi Vous Was We Well Were What When Where Whether Which While Who Why Will With W"
    "ould Y Ya Yes Yesterday Yet Yo You Your À È É Él";
}

namespace kokoro::text::tables::sentences {
inline constexpr char MARK[] =
    R"~((?P<mark>\.(?:[ \u00a0]\.){2,3}|[.!?…‥]+|[。！？｡．।॥]+)(?:(?:(?<=[^\W\d]\.)|(?<=\)\.))\d{1,3}(?: \d{1,2)~"
    R"~(})*(?=\s+[A-Z])|(?:\[\d{1,3}\])+)?(?P<closing>(?:[\"'”’)\]}」』）】〉｣»›]|[^\S\n][»›])*)(?P<space>\s*)|(?)~"
    R"~(P<line>(?<!\s)[^\S\n]*\n\s*))~";
inline constexpr char NEXT[] =
    R"~([\"'“”‘’(\[{「『（【《〈«‹¿¡*_•⁃–—\-\s]*(?P<word>[^\W\d_]+|\S|$)(?P<dot>\.?))~";
inline constexpr char BEFORE[] =
    R"~([\s'’\"“”‘«(\[/•⁃])~";
inline constexpr char INITIALS[] =
    R"~([^\W\d_]{1,3}(?:\.-?[^\W\d_]{1,3})+|[A-Z])~";
inline constexpr char ROMAN[] =
    R"~((?!I\b)[IVXLC]+)~";
inline constexpr char PLACE[] =
    R"~(\d{1,3}|[^\W\d_]|[IVX]+)~";
inline constexpr char GLUED[] =
    "[a-z0-9]{2}[.!?]+[A-Z][a-z]";
inline constexpr char ADDRESS[] =
    R"~([@/:]|\.[a-z])~";
inline constexpr char NEVER_FIRST[] =
    "! % & ) , . / : ; = ? …";
inline constexpr char GOES_ON[] =
    "、 が で と に の は へ も や を ，";
inline constexpr char ITEM[] =
    R"~((?P<before>[•⁃*-] ?|\()?(?P<place>\d{1,3}|[a-z])(?P<after>\.\)|[.)])\s)~";
inline constexpr char BRACKETS[] =
    ")\t(\n"
    "]\t[\n"
    "}\t{\n"
    "）\t（\n"
    "】\t【\n"
    "》\t《\n"
    "〉\t〈\n";
inline constexpr char BRACKET[] =
    R"~([()\[\]{}（）【】《》〈〉])~";
inline constexpr char BLANK_LINE[] =
    R"~(\n\s*\n)~";
inline constexpr char CLOSING[] =
    R"~(\"'”’)\]}」』）】〉｣»›)~";
}

namespace kokoro::text::tables::controls {
inline constexpr char CONTROL[] =
    R"~(\[([^][\n]+)\]\(([^()\n]*)\))~";
inline constexpr char STRESS[] =
    R"~([+-]?(?:[0-9]|0?\.5))~";
inline constexpr char EMOJI[] =
    "(?P<flag>[\\U0001f1e6-\\U0001f1ff]{2})|[←-⇿⌀-⏿①-➿⤀-⯿🀀-\360\237\207\245🈀-\360\237\253\277](?:[\\ufe0f\\u20e3\\U0001f3fb-\\U0001f3ff]|\\u20"
    "0d[←-⇿⌀-⏿①-➿⤀-⯿🀀-\360\237\207\245🈀-\360\237\253\277])*";
}

namespace kokoro::text::tables::pauses {
inline constexpr char PAUSE[] =
    R"~(\[pause:([^][\n]{1,20})\])~";
inline constexpr char DURATION[] =
    R"~(([0-9]{0,6}(?:\.[0-9]{1,6})?)(ms|s))~";
}

namespace kokoro::text::tables::ssml {
inline constexpr char ATTRIBUTES[] =
    "speak\tversion\tlang\n"
    "p\n"
    "s\n"
    "break\ttime\tstrength\n"
    "say-as\tinterpret-as\tformat\n"
    "sub\talias\n"
    "phoneme\talphabet\tph\n"
    "prosody\trate\n"
    "voice\tname\n";
inline constexpr char RATE[] =
    R"~(([0-9]{1,4}(?:\.[0-9]{1,4})?)(%?))~";
inline constexpr char PHONEMES[] =
    R"~([^()\n]+)~";
inline constexpr char AS_WRITTEN[] =
    "cardinal number ordinal date time telephone currency fraction unit";
inline constexpr char RATES[] =
    "x-slow\t0.5\n"
    "slow\t0.75\n"
    "medium\t1.0\n"
    "default\t1.0\n"
    "fast\t1.25\n"
    "x-fast\t1.75\n";
inline constexpr char STRENGTHS[] =
    "none\t0.0\n"
    "x-weak\t0.1\n"
    "weak\t0.25\n"
    "medium\t0.5\n"
    "strong\t1.0\n"
    "x-strong\t2.0\n";
}

namespace kokoro::text::tables::english {
inline constexpr char BASE[] =
    "ß\tss\n"
    "æ\tae\n"
    "Æ\tAe\n"
    "œ\toe\n"
    "Œ\tOe\n"
    "ø\to\n"
    "Ø\tO\n"
    "ł\tl\n"
    "Ł\tL\n"
    "đ\td\n"
    "ð\td\n"
    "þ\tth\n"
    "Þ\tTh\n"
    "ı\ti\n"
    "ŋ\tng\n";
inline constexpr char PLAIN[] =
    "’\t'\n"
    "ʼ\t'\n"
    "‐\t-\n"
    "‑\t-\n"
    "－\t-\n"
    "！\t!\n"
    "＂\t\"\n"
    "＃\t#\n"
    "＄\t$\n"
    "％\t%\n"
    "＆\t&\n"
    "＇\t'\n"
    "（\t(\n"
    "）\t)\n"
    "＊\t*\n"
    "＋\t+\n"
    "，\t,\n"
    "．\t.\n"
    "／\t/\n"
    "０\t0\n"
    "１\t1\n"
    "２\t2\n"
    "３\t3\n"
    "４\t4\n"
    "５\t5\n"
    "６\t6\n"
    "７\t7\n"
    "８\t8\n"
    "９\t9\n"
    "：\t:\n"
    "；\t;\n"
    "＜\t<\n"
    "＝\t=\n"
    "＞\t>\n"
    "？\t?\n"
    "＠\t@\n"
    "Ａ\tA\n"
    "Ｂ\tB\n"
    "Ｃ\tC\n"
    "Ｄ\tD\n"
    "Ｅ\tE\n"
    "Ｆ\tF\n"
    "Ｇ\tG\n"
    "Ｈ\tH\n"
    "Ｉ\tI\n"
    "Ｊ\tJ\n"
    "Ｋ\tK\n"
    "Ｌ\tL\n"
    "Ｍ\tM\n"
    "Ｎ\tN\n"
    "Ｏ\tO\n"
    "Ｐ\tP\n"
    "Ｑ\tQ\n"
    "Ｒ\tR\n"
    "Ｓ\tS\n"
    "Ｔ\tT\n"
    "Ｕ\tU\n"
    "Ｖ\tV\n"
    "Ｗ\tW\n"
    "Ｘ\tX\n"
    "Ｙ\tY\n"
    "Ｚ\tZ\n"
    "［\t[\n"
    "＼\t\\\n"
    "］\t]\n"
    "＾\t^\n"
    "＿\t_\n"
    "｀\t`\n"
    "ａ\ta\n"
    "ｂ\tb\n"
    "ｃ\tc\n"
    "ｄ\td\n"
    "ｅ\te\n"
    "ｆ\tf\n"
    "ｇ\tg\n"
    "ｈ\th\n"
    "ｉ\ti\n"
    "ｊ\tj\n"
    "ｋ\tk\n"
    "ｌ\tl\n"
    "ｍ\tm\n"
    "ｎ\tn\n"
    "ｏ\to\n"
    "ｐ\tp\n"
    "ｑ\tq\n"
    "ｒ\tr\n"
    "ｓ\ts\n"
    "ｔ\tt\n"
    "ｕ\tu\n"
    "ｖ\tv\n"
    "ｗ\tw\n"
    "ｘ\tx\n"
    "ｙ\ty\n"
    "ｚ\tz\n"
    "｛\t{\n"
    "｜\t|\n"
    "｝\t}\n"
    "～\t~\n";
inline constexpr char LONG_RUN[] =
    R"~(\S{250,})~";
inline constexpr char IRISH[] =
    "O'[A-Z][a-z]";
inline constexpr char CONSONANTS[] =
    R"~((?i)(?!.*(.)\1)[b-df-hj-np-tv-xz]{2,5}|(?i:omg|idk|im?ho))~";
inline constexpr char ACUTE[] =
    "(?<=.)ée?(s?)$";
inline constexpr char AY[] =
    "[Ai]z?$";
inline constexpr char LETTERS_OR_WORD[] =
    R"~((?<!\S)[A-Z](?: [A-Z])*(?!\S)|\S+)~";
}

namespace kokoro::text::tables::tokens {
inline constexpr char TOKEN[] =
    R"~((?s)(?P<space>\s+)|(?P<initials>(?<!\w)(?:[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-ﬆ]\.){2,}(?:[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-ﬆ](?)~"
    R"~(!\w))?|(?<!\w)[A-Z]\.(?=\s+[A-Z]))|(?P<abbreviation>(?<!\w)(?:Adm|Apr|Assn|Aug|Ave|Blvd|Bros|Capt|Co)~"
    "|Col|Comdr|Corp|Ct|Dec|Dept|Dr|Ed|Esq|Feb|Fig|Fr|Ft|Gen|Gov|Hon|Inc|Jan|Jr|Jul|Jun|Lt|Ltd|Maj|Mar|Me"
    R"~(ssrs|Mr|Mrs|Ms|Mt|Nov|Oct|Ph\.D|Pres|Prof|Rep|Rev|Sen|Sep|Sept|Sgt|Sr|St|Univ|[Aa]pprox|[Cc]f|[Ee]st)~"
    R"~(|[Ee]tc|[Vv]ol|[Vv]s)\.(?!\w))|(?P<word>(?:(?<!\w)'(?=(?i:bout|cause|cept|d|em|fraid|gainst|ll|m|mon)~"
    "gst|n|neath|nother|pon|re|roid|round|s|t|til|till|tis|tude|twas|tween|twere|twill|twixt|twould|un|ve"
    R"~(|za)\b))?[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-ﬆ](?:[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-ﬆ]|[\u0300-\u036f]|'(?=[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-)~"
    R"~(ﬆ]))*)|(?P<possessive>(?<=\w)'[sS](?!\w))|(?P<foreign>[^\W\d_](?:(?![A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-ﬆ])[^\W\d_])~"
    R"~()*)|(?P<to>(?<=[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-ﬆ])2(?=[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-ﬆ]))|(?P<number>[0-9])|(?P<dots>\.{2)~"
    ",})|(?P<dash>-{2,})|(?P<mark>.)";
inline constexpr char MARKS[] =
    ".\t.\n"
    "!\t.\n"
    "?\t.\n"
    ",\t,\n"
    ";\t:\n"
    ":\t:\n"
    "—\t:\n"
    "–\t:\n"
    "…\t:\n"
    "(\t-LRB-\n"
    "[\t-LRB-\n"
    "{\t-LRB-\n"
    ")\t-RRB-\n"
    "]\t-RRB-\n"
    "}\t-RRB-\n"
    "“\t``\n"
    "«\t``\n"
    "‘\t``\n"
    "„\t``\n"
    "”\t''\n"
    "»\t''\n"
    "’\t''\n"
    "*\tNFP\n"
    "_\tNFP\n"
    "`\tNFP\n"
    "|\tNFP\n"
    "~\tNFP\n"
    "^\tNFP\n"
    "\\\tNFP\n";
inline constexpr char PUNCTUATION[] =
    "-LRB-\t(\n"
    "-RRB-\t)\n"
    "``\t“\n"
    "''\t”\n"
    "NFP\t\n";
inline constexpr char CONTRACTED[] =
    "(?i)(.+?)(n't|'(?:s|ll|re|ve|d|m))";
}

namespace kokoro::text::tables::pronunciation {
inline constexpr char ALPHABETIC[] =
    R"~([A-Za-z]+\Z)~";
inline constexpr char INITIALS[] =
    R"~((?:[^\W\d_]{1,2}\.)*[^\W\d_]{1,2}\.?\Z)~";
inline constexpr char VERSUS[] =
    R"~((?i)vs\.?\Z)~";
inline constexpr char SYMBOLS[] =
    "%\tpercent\n"
    "&\tand\n"
    "+\tplus\n"
    "@\tat\n";
inline constexpr char STEMS[] =
    "(.+[^s])s\t\ts\n"
    "(.+)'s\t\ts\n"
    "(..+[^i])es\t\ts\n"
    "(..+)ies\ty\ts\n"
    "(..+[^d])d\t\ted\n"
    "(..+[^e])ed\t\ted\n"
    "(...+)ing\t\ting\n"
    "(..+)ing\te\ting\n"
    "(.+([bcdgklmnprstvxz]))\\2ing\t\ting\n"
    "(.+c)king\t\ting\n";
}

namespace kokoro::text::tables::stress {
inline constexpr char HEAVY[] =
    "[AIOQWYʤʧ]";
inline constexpr char FIRST_VOWEL[] =
    "[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ]";
}

namespace kokoro::text::tables::compounds {
inline constexpr char CAMEL_CASE[] =
    "[A-ZÀ-ÖØ-Þ](?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])|.*?[a-zß-öø-ÿ](?=[A-ZÀ-ÖØ-Þ])|.+";
inline constexpr char WORDS[] =
    R"~((?s)(?:[^\W\d_]|['\u0300-\u036f])+|.)~";
inline constexpr char BEGINNING[] =
    "[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻbdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ;:,.!?—…]";
}

namespace kokoro::text::tables::written_forms {
inline constexpr char NEXT[] =
    R"~([\"”’)\]]{0,3}(?:\s*(?:\Z|\n)|\s+[\"“‘(\[]?(?P<word>[A-Za-z]{1,20})))~";
}

namespace kokoro::text::tables::numbers {
inline constexpr char ONES[] =
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixtee"
    "n seventeen eighteen nineteen";
inline constexpr char TENS[] =
    "- - twenty thirty forty fifty sixty seventy eighty ninety";
inline constexpr char SCALES[] =
    "- thousand million billion trillion quadrillion quintillion sextillion septillion octillion";
inline constexpr char ORDINALS[] =
    "one\tfirst\n"
    "two\tsecond\n"
    "three\tthird\n"
    "five\tfifth\n"
    "eight\teighth\n"
    "nine\tninth\n"
    "twelve\ttwelfth\n";
inline constexpr char SMALL[] =
    "eight eighteen eighty eleven fifteen fifty five forty four fourteen nine nineteen ninety one seven s"
    "eventeen seventy six sixteen sixty ten thirteen thirty three twelve twenty two";
inline constexpr char LARGE[] =
    "billion hundred million octillion quadrillion quintillion septillion sextillion thousand trillion";
}

namespace kokoro::text::tables::tables {
inline constexpr char MONTHS[] =
    "jan\tJanuary\n"
    "feb\tFebruary\n"
    "mar\tMarch\n"
    "apr\tApril\n"
    "may\tMay\n"
    "jun\tJune\n"
    "jul\tJuly\n"
    "aug\tAugust\n"
    "sep\tSeptember\n"
    "oct\tOctober\n"
    "nov\tNovember\n"
    "dec\tDecember\n";
inline constexpr char CURRENCIES[] =
    "$\tdollar\tdollars\tcent\tcents\n"
    "£\tpound\tpounds\tpenny\tpence\n"
    "€\teuro\teuros\tcent\tcents\n"
    "¥\tyen\tyen\t\t\n"
    "￥\tyen\tyen\t\t\n"
    "₩\twon\twon\t\t\n"
    "₹\trupee\trupees\tpaisa\tpaise\n"
    "₽\truble\trubles\tkopek\tkopeks\n"
    "₺\tlira\tlira\tkurus\tkurus\n"
    "₴\thryvnia\thryvnias\tkopek\tkopeks\n"
    "₪\tshekel\tshekels\tagora\tagorot\n"
    "₿\tbitcoin\tbitcoins\t\t\n"
    "₱\tpeso\tpesos\tcentavo\tcentavos\n"
    "₫\tdong\tdong\t\t\n"
    "฿\tbaht\tbaht\tsatang\tsatang\n"
    "¢\tcent\tcents\t\t\n";
inline constexpr char COUNTRIES[] =
    "US\tUS\n"
    "U.S.\tUS\n"
    "A\tAustralian\n"
    "AU\tAustralian\n"
    "C\tCanadian\n"
    "CA\tCanadian\n"
    "HK\tHong Kong\n"
    "NZ\tNew Zealand\n"
    "S\tSingapore\n"
    "SG\tSingapore\n"
    "MX\tMexican\n";
inline constexpr char CURRENCY_CODES[] =
    "USD\tUS dollar\tUS dollars\n"
    "EUR\teuro\teuros\n"
    "GBP\tBritish pound\tBritish pounds\n"
    "JPY\tJapanese yen\tJapanese yen\n"
    "CNY\tyuan\tyuan\n"
    "RMB\tyuan\tyuan\n"
    "CHF\tSwiss franc\tSwiss francs\n"
    "CAD\tCanadian dollar\tCanadian dollars\n"
    "AUD\tAustralian dollar\tAustralian dollars\n"
    "INR\tIndian rupee\tIndian rupees\n"
    "KRW\twon\twon\n";
inline constexpr char SCALES[] =
    "k\tthousand\n"
    "K\tthousand\n"
    "m\tmillion\n"
    "M\tmillion\n"
    "mn\tmillion\n"
    "mm\tmillion\n"
    "MM\tmillion\n"
    "b\tbillion\n"
    "B\tbillion\n"
    "bn\tbillion\n"
    "Bn\tbillion\n"
    "BN\tbillion\n"
    "t\ttrillion\n"
    "T\ttrillion\n"
    "tn\ttrillion\n"
    "trn\ttrillion\n"
    "hundred\thundred\n"
    "thousand\tthousand\n"
    "million\tmillion\n"
    "billion\tbillion\n"
    "trillion\ttrillion\n"
    "quadrillion\tquadrillion\n"
    "lakh\tlakh\n"
    "crore\tcrore\n";
inline constexpr char PERIODS[] =
    "s\tsecond\n"
    "sec\tsecond\n"
    "min\tminute\n"
    "h\thour\n"
    "hr\thour\n"
    "d\tday\n"
    "wk\tweek\n"
    "mo\tmonth\n"
    "mth\tmonth\n"
    "yr\tyear\n"
    "y\tyear\n"
    "day\tday\n"
    "week\tweek\n"
    "month\tmonth\n"
    "year\tyear\n"
    "hour\thour\n"
    "minute\tminute\n"
    "night\tnight\n";
inline constexpr char UNITS[] =
    "Tm\tterameter\n"
    "Tg\tteragram\n"
    "Tl\tteraliter\n"
    "TL\tteraliter\n"
    "TW\tterawatt\n"
    "TWh\tterawatt hour\n"
    "TV\tteravolt\n"
    "TA\tteraamp\n"
    "THz\tterahertz\n"
    "Thz\tterahertz\n"
    "TJ\tterajoule\n"
    "Tcal\tteracalorie\n"
    "TPa\tterapascal\n"
    "TN\tteranewton\n"
    "TB\tterabyte\n"
    "Tb\tterabit\n"
    "Tbps\tterabit per second\n"
    "TBps\tterabyte per second\n"
    "TeV\tteraelectron volt\n"
    "TΩ\tteraohm\n"
    "TF\tterafarad\n"
    "Tmol\tteramole\n"
    "Gm\tgigameter\n"
    "Gg\tgigagram\n"
    "Gl\tgigaliter\n"
    "GL\tgigaliter\n"
    "GW\tgigawatt\n"
    "GWh\tgigawatt hour\n"
    "GV\tgigavolt\n"
    "GA\tgigaamp\n"
    "GHz\tgigahertz\n"
    "Ghz\tgigahertz\n"
    "GJ\tgigajoule\n"
    "Gcal\tgigacalorie\n"
    "GPa\tgigapascal\n"
    "GN\tgiganewton\n"
    "GB\tgigabyte\n"
    "Gb\tgigabit\n"
    "Gbps\tgigabit per second\n"
    "GBps\tgigabyte per second\n"
    "GeV\tgigaelectron volt\n"
    "GΩ\tgigaohm\n"
    "GF\tgigafarad\n"
    "Gmol\tgigamole\n"
    "Mm\tmegameter\n"
    "Mg\tmegagram\n"
    "Ml\tmegaliter\n"
    "ML\tmegaliter\n"
    "MW\tmegawatt\n"
    "MWh\tmegawatt hour\n"
    "MV\tmegavolt\n"
    "MA\tmegaamp\n"
    "MHz\tmegahertz\n"
    "Mhz\tmegahertz\n"
    "MJ\tmegajoule\n"
    "Mcal\tmegacalorie\n"
    "MPa\tmegapascal\n"
    "MN\tmeganewton\n"
    "MB\tmegabyte\n"
    "Mb\tmegabit\n"
    "Mbps\tmegabit per second\n"
    "MBps\tmegabyte per second\n"
    "MeV\tmegaelectron volt\n"
    "MΩ\tmegaohm\n"
    "MF\tmegafarad\n"
    "Mmol\tmegamole\n"
    "km\tkilometer\n"
    "kg\tkilogram\n"
    "kl\tkiloliter\n"
    "kL\tkiloliter\n"
    "kW\tkilowatt\n"
    "kWh\tkilowatt hour\n"
    "kV\tkilovolt\n"
    "kA\tkiloamp\n"
    "kHz\tkilohertz\n"
    "khz\tkilohertz\n"
    "kJ\tkilojoule\n"
    "kcal\tkilocalorie\n"
    "kPa\tkilopascal\n"
    "kN\tkilonewton\n"
    "kB\tkilobyte\n"
    "kb\tkilobyte\n"
    "kbps\tkilobit per second\n"
    "kBps\tkilobyte per second\n"
    "keV\tkiloelectron volt\n"
    "kΩ\tkiloohm\n"
    "kF\tkilofarad\n"
    "kmol\tkilomole\n"
    "Km\tkilometer\n"
    "Kg\tkilogram\n"
    "Kl\tkiloliter\n"
    "KL\tkiloliter\n"
    "KW\tkilowatt\n"
    "KWh\tkilowatt hour\n"
    "KV\tkilovolt\n"
    "KA\tkiloamp\n"
    "KHz\tkilohertz\n"
    "Khz\tkilohertz\n"
    "KJ\tkilojoule\n"
    "Kcal\tkilocalorie\n"
    "KPa\tkilopascal\n"
    "KN\tkilonewton\n"
    "KB\tkilobyte\n"
    "Kb\tkilobit\n"
    "Kbps\tkilobit per second\n"
    "KBps\tkilobyte per second\n"
    "KeV\tkiloelectron volt\n"
    "KΩ\tkiloohm\n"
    "KF\tkilofarad\n"
    "Kmol\tkilomole\n"
    "hm\thectometer\n"
    "hg\thectogram\n"
    "hl\thectoliter\n"
    "hL\thectoliter\n"
    "hW\thectowatt\n"
    "hWh\thectowatt hour\n"
    "hV\thectovolt\n"
    "hA\thectoamp\n"
    "hHz\thectohertz\n"
    "hhz\thectohertz\n"
    "hJ\thectojoule\n"
    "hcal\thectocalorie\n"
    "hPa\thectopascal\n"
    "hN\thectonewton\n"
    "hB\thectobyte\n"
    "hb\thectobit\n"
    "hbps\thectobit per second\n"
    "hBps\thectobyte per second\n"
    "heV\thectoelectron volt\n"
    "hΩ\thectoohm\n"
    "hF\thectofarad\n"
    "hmol\thectomole\n"
    "dm\tdecimeter\n"
    "dg\tdecigram\n"
    "dl\tdeciliter\n"
    "dL\tdeciliter\n"
    "dW\tdeciwatt\n"
    "dWh\tdeciwatt hour\n"
    "dV\tdecivolt\n"
    "dA\tdeciamp\n"
    "dHz\tdecihertz\n"
    "dhz\tdecihertz\n"
    "dJ\tdecijoule\n"
    "dcal\tdecicalorie\n"
    "dPa\tdecipascal\n"
    "dN\tdecinewton\n"
    "dB\tdecibel\n"
    "db\tdecibit\n"
    "dbps\tdecibit per second\n"
    "dBps\tdecibyte per second\n"
    "deV\tdecielectron volt\n"
    "dΩ\tdeciohm\n"
    "dF\tdecifarad\n"
    "dmol\tdecimole\n"
    "cm\tcentimeter\n"
    "cg\tcentigram\n"
    "cl\tcentiliter\n"
    "cL\tcentiliter\n"
    "cW\tcentiwatt\n"
    "cWh\tcentiwatt hour\n"
    "cV\tcentivolt\n"
    "cA\tcentiamp\n"
    "cHz\tcentihertz\n"
    "chz\tcentihertz\n"
    "cJ\tcentijoule\n"
    "ccal\tcenticalorie\n"
    "cPa\tcentipascal\n"
    "cN\tcentinewton\n"
    "cB\tcentibyte\n"
    "cb\tcentibit\n"
    "cbps\tcentibit per second\n"
    "cBps\tcentibyte per second\n"
    "ceV\tcentielectron volt\n"
    "cΩ\tcentiohm\n"
    "cF\tcentifarad\n"
    "cmol\tcentimole\n"
    "mm\tmillimeter\n"
    "mg\tmilligram\n"
    "ml\tmilliliter\n"
    "mL\tmilliliter\n"
    "mW\tmilliwatt\n"
    "mWh\tmilliwatt hour\n"
    "mV\tmillivolt\n"
    "mA\tmilliamp\n"
    "mHz\tmillihertz\n"
    "mhz\tmillihertz\n"
    "mJ\tmillijoule\n"
    "mcal\tmillicalorie\n"
    "mPa\tmillipascal\n"
    "mN\tmillinewton\n"
    "mB\tmillibyte\n"
    "mb\tmegabyte\n"
    "mbps\tmegabit per second\n"
    "mBps\tmillibyte per second\n"
    "meV\tmillielectron volt\n"
    "mΩ\tmilliohm\n"
    "mF\tmillifarad\n"
    "mmol\tmillimole\n"
    "µm\tmicrometer\n"
    "µg\tmicrogram\n"
    "µl\tmicroliter\n"
    "µL\tmicroliter\n"
    "µW\tmicrowatt\n"
    "µWh\tmicrowatt hour\n"
    "µV\tmicrovolt\n"
    "µA\tmicroamp\n"
    "µHz\tmicrohertz\n"
    "µhz\tmicrohertz\n"
    "µJ\tmicrojoule\n"
    "µcal\tmicrocalorie\n"
    "µPa\tmicropascal\n"
    "µN\tmicronewton\n"
    "µB\tmicrobyte\n"
    "µb\tmicrobit\n"
    "µbps\tmicrobit per second\n"
    "µBps\tmicrobyte per second\n"
    "µeV\tmicroelectron volt\n"
    "µΩ\tmicroohm\n"
    "µF\tmicrofarad\n"
    "µmol\tmicromole\n"
    "μm\tmicrometer\n"
    "μg\tmicrogram\n"
    "μl\tmicroliter\n"
    "μL\tmicroliter\n"
    "μW\tmicrowatt\n"
    "μWh\tmicrowatt hour\n"
    "μV\tmicrovolt\n"
    "μA\tmicroamp\n"
    "μHz\tmicrohertz\n"
    "μhz\tmicrohertz\n"
    "μJ\tmicrojoule\n"
    "μcal\tmicrocalorie\n"
    "μPa\tmicropascal\n"
    "μN\tmicronewton\n"
    "μB\tmicrobyte\n"
    "μb\tmicrobit\n"
    "μbps\tmicrobit per second\n"
    "μBps\tmicrobyte per second\n"
    "μeV\tmicroelectron volt\n"
    "μΩ\tmicroohm\n"
    "μF\tmicrofarad\n"
    "μmol\tmicromole\n"
    "nm\tnanometer\n"
    "ng\tnanogram\n"
    "nl\tnanoliter\n"
    "nL\tnanoliter\n"
    "nW\tnanowatt\n"
    "nWh\tnanowatt hour\n"
    "nV\tnanovolt\n"
    "nA\tnanoamp\n"
    "nHz\tnanohertz\n"
    "nhz\tnanohertz\n"
    "nJ\tnanojoule\n"
    "ncal\tnanocalorie\n"
    "nPa\tnanopascal\n"
    "nN\tnanonewton\n"
    "nB\tnanobyte\n"
    "nb\tnanobit\n"
    "nbps\tnanobit per second\n"
    "nBps\tnanobyte per second\n"
    "neV\tnanoelectron volt\n"
    "nΩ\tnanoohm\n"
    "nF\tnanofarad\n"
    "nmol\tnanomole\n"
    "pm\tpicometer\n"
    "pg\tpicogram\n"
    "pl\tpicoliter\n"
    "pL\tpicoliter\n"
    "pW\tpicowatt\n"
    "pWh\tpicowatt hour\n"
    "pV\tpicovolt\n"
    "pA\tpicoamp\n"
    "pHz\tpicohertz\n"
    "phz\tpicohertz\n"
    "pJ\tpicojoule\n"
    "pcal\tpicocalorie\n"
    "pPa\tpicopascal\n"
    "pN\tpiconewton\n"
    "pB\tpicobyte\n"
    "pb\tpicobit\n"
    "pbps\tpicobit per second\n"
    "pBps\tpicobyte per second\n"
    "peV\tpicoelectron volt\n"
    "pΩ\tpicoohm\n"
    "pF\tpicofarad\n"
    "pmol\tpicomole\n"
    "m\tmeter\n"
    "g\tgram\n"
    "l\tliter\n"
    "L\tliter\n"
    "W\twatt\n"
    "V\tvolt\n"
    "Hz\thertz\n"
    "J\tjoule\n"
    "Pa\tpascal\n"
    "Ω\tohm\n"
    "cal\tcalorie\n"
    "mol\tmole\n"
    "Wh\twatt hour\n"
    "s\tsecond\n"
    "ms\tmillisecond\n"
    "µs\tmicrosecond\n"
    "μs\tmicrosecond\n"
    "ns\tnanosecond\n"
    "h\thour\n"
    "lb\tpound\n"
    "lbs\tpound\n"
    "lb.\tpound\n"
    "lbs.\tpound\n"
    "oz\tounce\n"
    "oz.\tounce\n"
    "ft\tfoot\n"
    "ft.\tfoot\n"
    "in.\tinch\n"
    "yd\tyard\n"
    "yds\tyard\n"
    "mi\tmile\n"
    "mi.\tmile\n"
    "gal\tgallon\n"
    "qt\tquart\n"
    "tbsp\ttablespoon\n"
    "tsp\tteaspoon\n"
    "tbsp.\ttablespoon\n"
    "tsp.\tteaspoon\n"
    "fl oz\tfluid ounce\n"
    "fl. oz.\tfluid ounce\n"
    "cc\tCC\n"
    "ha\thectare\n"
    "sec\tsecond\n"
    "secs\tsecond\n"
    "sec.\tsecond\n"
    "min\tminute\n"
    "mins\tminute\n"
    "min.\tminute\n"
    "hr\thour\n"
    "hrs\thour\n"
    "hr.\thour\n"
    "hrs.\thour\n"
    "mph\tmile per hour\n"
    "mpg\tmile per gallon\n"
    "kph\tkilometer per hour\n"
    "fps\tframe per second\n"
    "bps\tbit per second\n"
    "gbps\tgigabit per second\n"
    "rpm\trevolution per minute\n"
    "bpm\tbeat per minute\n"
    "px\tpixel\n"
    "pts\tpoint\n"
    "MP\tmegapixel\n"
    "hp\thorsepower\n"
    "gb\tgigabyte\n"
    "tb\tterabyte\n"
    "KG\tkilogram\n"
    "KM\tkilometer\n"
    "hz\thertz\n"
    "sqft\tsquare foot\n"
    "sq ft\tsquare foot\n"
    "sq. ft.\tsquare foot\n"
    "sq km\tsquare kilometer\n"
    "°C\tdegree Celsius\n"
    "° C\tdegree Celsius\n"
    "℃\tdegree Celsius\n"
    "ºC\tdegree Celsius\n"
    "°F\tdegree Fahrenheit\n"
    "° F\tdegree Fahrenheit\n"
    "℉\tdegree Fahrenheit\n"
    "ºF\tdegree Fahrenheit\n"
    "°\tdegree\n"
    "º\tdegree\n"
    "%\tpercent\n"
    "‰\tper mille\n"
    "ppm\tpart per million\n"
    "atm\tatmosphere\n"
    "psi\tPSI\n"
    "m²\tsquare meter\n"
    "ft²\tsquare foot\n"
    "yd²\tsquare yard\n"
    "yds²\tsquare yard\n"
    "mi²\tsquare mile\n"
    "KM²\tsquare kilometer\n"
    "sqft²\tsquare square foot\n"
    "sq ft²\tsquare square foot\n"
    "sq km²\tsquare square kilometer\n"
    "Tm²\tsquare terameter\n"
    "Gm²\tsquare gigameter\n"
    "Mm²\tsquare megameter\n"
    "km²\tsquare kilometer\n"
    "Km²\tsquare kilometer\n"
    "hm²\tsquare hectometer\n"
    "dm²\tsquare decimeter\n"
    "cm²\tsquare centimeter\n"
    "mm²\tsquare millimeter\n"
    "µm²\tsquare micrometer\n"
    "μm²\tsquare micrometer\n"
    "nm²\tsquare nanometer\n"
    "pm²\tsquare picometer\n"
    "m2\tsquare meter\n"
    "ft2\tsquare foot\n"
    "yd2\tsquare yard\n"
    "yds2\tsquare yard\n"
    "mi2\tsquare mile\n"
    "KM2\tsquare kilometer\n"
    "sqft2\tsquare square foot\n"
    "sq ft2\tsquare square foot\n"
    "sq km2\tsquare square kilometer\n"
    "Tm2\tsquare terameter\n"
    "Gm2\tsquare gigameter\n"
    "Mm2\tsquare megameter\n"
    "km2\tsquare kilometer\n"
    "Km2\tsquare kilometer\n"
    "hm2\tsquare hectometer\n"
    "dm2\tsquare decimeter\n"
    "cm2\tsquare centimeter\n"
    "mm2\tsquare millimeter\n"
    "µm2\tsquare micrometer\n"
    "μm2\tsquare micrometer\n"
    "nm2\tsquare nanometer\n"
    "pm2\tsquare picometer\n"
    "m³\tcubic meter\n"
    "ft³\tcubic foot\n"
    "yd³\tcubic yard\n"
    "yds³\tcubic yard\n"
    "mi³\tcubic mile\n"
    "KM³\tcubic kilometer\n"
    "sqft³\tcubic square foot\n"
    "sq ft³\tcubic square foot\n"
    "sq km³\tcubic square kilometer\n"
    "Tm³\tcubic terameter\n"
    "Gm³\tcubic gigameter\n"
    "Mm³\tcubic megameter\n"
    "km³\tcubic kilometer\n"
    "Km³\tcubic kilometer\n"
    "hm³\tcubic hectometer\n"
    "dm³\tcubic decimeter\n"
    "cm³\tcubic centimeter\n"
    "mm³\tcubic millimeter\n"
    "µm³\tcubic micrometer\n"
    "μm³\tcubic micrometer\n"
    "nm³\tcubic nanometer\n"
    "pm³\tcubic picometer\n"
    "m3\tcubic meter\n"
    "ft3\tcubic foot\n"
    "yd3\tcubic yard\n"
    "yds3\tcubic yard\n"
    "mi3\tcubic mile\n"
    "KM3\tcubic kilometer\n"
    "sqft3\tcubic square foot\n"
    "sq ft3\tcubic square foot\n"
    "sq km3\tcubic square kilometer\n"
    "Tm3\tcubic terameter\n"
    "Gm3\tcubic gigameter\n"
    "Mm3\tcubic megameter\n"
    "km3\tcubic kilometer\n"
    "Km3\tcubic kilometer\n"
    "hm3\tcubic hectometer\n"
    "dm3\tcubic decimeter\n"
    "cm3\tcubic centimeter\n"
    "mm3\tcubic millimeter\n"
    "µm3\tcubic micrometer\n"
    "μm3\tcubic micrometer\n"
    "nm3\tcubic nanometer\n"
    "pm3\tcubic picometer\n";
inline constexpr char SEVERAL[] =
    "foot\tfeet\n"
    "inch\tinches\n"
    "percent\tpercent\n"
    "CC\tCC\n"
    "PSI\tPSI\n"
    "mille\tmille\n"
    "horsepower\thorsepower\n";
inline constexpr char STATES[] =
    "AL\tAlabama\n"
    "AK\tAlaska\n"
    "AZ\tArizona\n"
    "AR\tArkansas\n"
    "CA\tCalifornia\n"
    "CO\tColorado\n"
    "DC\tD C\n"
    "CT\tConnecticut\n"
    "DE\tDelaware\n"
    "FL\tFlorida\n"
    "GA\tGeorgia\n"
    "HI\tHawaii\n"
    "ID\tIdaho\n"
    "IL\tIllinois\n"
    "IN\tIndiana\n"
    "IA\tIowa\n"
    "KS\tKansas\n"
    "KY\tKentucky\n"
    "LA\tLouisiana\n"
    "ME\tMaine\n"
    "MD\tMaryland\n"
    "MA\tMassachusetts\n"
    "MI\tMichigan\n"
    "MN\tMinnesota\n"
    "MS\tMississippi\n"
    "MO\tMissouri\n"
    "MT\tMontana\n"
    "NE\tNebraska\n"
    "NV\tNevada\n"
    "NH\tNew Hampshire\n"
    "NJ\tNew Jersey\n"
    "NM\tNew Mexico\n"
    "NY\tNew York\n"
    "NC\tNorth Carolina\n"
    "ND\tNorth Dakota\n"
    "OH\tOhio\n"
    "OK\tOklahoma\n"
    "OR\tOregon\n"
    "PA\tPennsylvania\n"
    "RI\tRhode Island\n"
    "SC\tSouth Carolina\n"
    "SD\tSouth Dakota\n"
    "TN\tTennessee\n"
    "TX\tTexas\n"
    "UT\tUtah\n"
    "VT\tVermont\n"
    "VA\tVirginia\n"
    "WA\tWashington\n"
    "WV\tWest Virginia\n"
    "WI\tWisconsin\n"
    "WY\tWyoming\n";
inline constexpr char AMBIGUOUS_STATES[] =
    "AL CT DE HI ID IN LA MA MD ME MI MO MS OH OK OR PA VA";
inline constexpr char STREETS[] =
    "St\tStreet\n"
    "Ave\tAvenue\n"
    "Av\tAvenue\n"
    "Blvd\tBoulevard\n"
    "Rd\tRoad\n"
    "Hwy\tHighway\n"
    "Expy\tExpressway\n"
    "Ct\tCourt\n"
    "Ln\tLane\n"
    "Pkwy\tParkway\n"
    "Sq\tSquare\n"
    "Pl\tPlace\n"
    "Ter\tTerrace\n"
    "Cir\tCircle\n"
    "Fwy\tFreeway\n";
inline constexpr char BEFORE_NAMES[] =
    "St\tSaint\n"
    "Mt\tMount\n"
    "Ft\tFort\n"
    "Gen\tGeneral\n"
    "Gov\tGovernor\n"
    "Sen\tSenator\n"
    "Rep\tRepresentative\n"
    "Rev\tReverend\n"
    "Hon\tHonorable\n"
    "Capt\tCaptain\n"
    "Lt\tLieutenant\n"
    "Sgt\tSergeant\n"
    "Col\tColonel\n"
    "Maj\tMajor\n"
    "Cmdr\tCommander\n"
    "Adm\tAdmiral\n"
    "Pres\tPresident\n"
    "Messrs\tMessieurs\n"
    "Ste\tSainte\n"
    "Mme\tMadame\n"
    "Supt\tSuperintendent\n";
inline constexpr char BEFORE_NUMBERS[] =
    "No\tnumber\n"
    "no\tnumber\n"
    "Nos\tnumbers\n"
    "nos\tnumbers\n"
    "Nr\tnumber\n"
    "Vol\tvolume\n"
    "vol\tvolume\n"
    "Vols\tvolumes\n"
    "Ch\tchapter\n"
    "ch\tchapter\n"
    "Fig\tfigure\n"
    "fig\tfigure\n"
    "Figs\tfigures\n"
    "Eq\tequation\n"
    "eq\tequation\n"
    "p\tpage\n"
    "pp\tpages\n"
    "pg\tpage\n"
    "Sec\tsection\n"
    "sec\tsection\n"
    "Apt\tapartment\n"
    "apt\tapartment\n"
    "Art\tarticle\n"
    "art\tarticle\n"
    "Ext\textension\n"
    "ext\textension\n"
    "Rm\troom\n"
    "Tel\ttelephone\n"
    "ed\tedition\n"
    "Op\topus\n"
    "op\topus\n"
    "Pt\tpart\n"
    "Bldg\tbuilding\n"
    "ca\tcirca\n"
    "est\testablished\n";
inline constexpr char ANYWHERE[] =
    "e.g.\tfor example\n"
    "i.e.\tthat is\n"
    "Jr.\tJunior\n"
    "Sr.\tSenior\n"
    "Inc.\tIncorporated\n"
    "Ltd.\tLimited\n"
    "Corp.\tCorporation\n"
    "Bros.\tBrothers\n"
    "Dept.\tDepartment\n"
    "dept.\tdepartment\n"
    "approx.\tapproximately\n"
    "Ave.\tAvenue\n"
    "Blvd.\tBoulevard\n"
    "Assn.\tAssociation\n"
    "Univ.\tUniversity\n"
    "w/o\twithout\n"
    "w/\twith\n"
    "c/o\tcare of\n"
    "Mon.\tMonday\n"
    "Tue.\tTuesday\n"
    "Tues.\tTuesday\n"
    "Wed.\tWednesday\n"
    "Thu.\tThursday\n"
    "Thur.\tThursday\n"
    "Thurs.\tThursday\n"
    "Fri.\tFriday\n"
    "govt.\tgovernment\n"
    "avg.\taverage\n"
    "et al.\tand others\n"
    "a.k.a.\talso known as\n"
    "viz.\tnamely\n"
    "cf.\tcompare\n"
    "Esq.\tEsquire\n"
    "Hwy.\tHighway\n"
    "Pkwy.\tParkway\n"
    "incl.\tincluding\n"
    "misc.\tmiscellaneous\n";
}

namespace kokoro::text::tables::amounts {
inline constexpr char ARTICLE[] =
    R"~(\b[Aa]n? $)~";
inline constexpr char NOUN[] =
    R"~( (?!(?:a|an|and|in|of|or|per|to|each|more|less|for|at|on|the|from|than|is|was)\b)[a-z])~";
inline constexpr char BOOK[] =
    R"~(\b(?:Gen(?:esis)?|Exod(?:us)?|Deut(?:eronomy)?|Kings|Ps(?:alms?)?|Proverbs|Isaiah|Jeremiah|Ezekiel|D)~"
    "aniel|Matt(?:hew)?|Mark|Luke|John|Acts|Rom(?:ans)?|Cor(?:inthians)?|Eph(?:esians)?|Hebrews|James|Rev"
    R"~((?:elation)?)\.? $)~";
inline constexpr char VULGAR_FRACTIONS[] =
    "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞↉";
}

namespace kokoro::text::tables::electronic {
inline constexpr char NAMES[] =
    ".\tdot\n"
    "@\tat\n"
    "/\tslash\n"
    "-\tdash\n"
    "_\tunderscore\n"
    ":\tcolon\n"
    "&\tampersand\n"
    "#\thash\n"
    "?\tquestion mark\n"
    "=\tequals\n"
    "+\tplus\n"
    "%\tpercent\n"
    "~\ttilde\n"
    "*\tasterisk\n"
    "\\\tbackslash\n";
inline constexpr char WORDS[] =
    "app blog com dev edu gov info jpeg name net online org pro shop site web";
inline constexpr char PART[] =
    R"~(\d+|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|.)~";
inline constexpr char VOWEL[] =
    "[aeiouyAEIOUY]";
}

namespace kokoro::text::tables::science {
inline constexpr char PART[] =
    "[A-Za-z]|[0-9₀₁₂₃₄₅₆₇₈₉]+";
inline constexpr char BASE[] =
    R"~((?<![^\W\d_])[^\W\d_]{1,3}\Z|[\d)]\Z)~";
}

namespace kokoro::text::tables::words {
inline constexpr char SAID_OTHERWISE[] =
    "24/7\ttwenty four seven\n"
    "9/11\tnine eleven\n"
    "50/50\tfifty fifty\n"
    "20/20\ttwenty twenty\n"
    "401(k)\tfour oh one k\n"
    "403(b)\tfour oh three b\n"
    "C++\tC plus plus\n"
    "C#\tC sharp\n"
    "F#\tF sharp\n"
    "and/or\tand or\n"
    "TL;DR\tT L D R\n"
    "WWI\tWorld War one\n"
    "WWII\tWorld War two\n";
inline constexpr char WORD[] =
    " ?([A-Za-z]{1,20})";
inline constexpr char KINGS[] =
    "Adrian Afonso Ahmed Alexander Alfonso Amenhotep Andronikos Anne Antiochus Basil Bayezid Benedict Bon"
    "iface Callixtus Carlos Casimir Catherine Charles Christian Clement Cleopatra Constantine Darius Davi"
    "d Edmund Edward Elizabeth Emmanuel Eric Felipe Ferdinand Francis Frederick George Gregory Gustav Haa"
    "kon Harald Henry Innocent Ivan James John Joseph Juan Julius Leo Leopold Louis Magnus Mahmud Manuel "
    "Margaret Mary Maximilian Mehmed Michael Murad Mustafa Napoleon Nicholas Olav Otto Paul Pedro Peter P"
    "hilip Pius Ptolemy Rama Rameses Ramesses Richard Robert Rudolf Sam Selim Seti Shapur Sigismund Sixtu"
    "s Suleiman Thomas Thutmose Umberto Urban Valdemar Wilhelm William Xerxes";
inline constexpr char MATH[] =
    "=\tequals\n"
    "<\tis less than\n"
    ">\tis greater than\n"
    "≤\tis at most\n"
    "≥\tis at least\n"
    "≠\tis not equal to\n"
    "≈\tis about\n"
    "×\ttimes\n"
    "÷\tdivided by\n"
    "±\tplus or minus\n"
    "+\tplus\n"
    "-\tminus\n"
    "−\tminus\n"
    "*\ttimes\n"
    "√\troot\n"
    "∞\tinfinity\n"
    "==\tequals\n"
    "!=\tis not equal to\n"
    "<=\tis at most\n"
    ">=\tis at least\n"
    "->\tto\n"
    "=>\tto\n"
    "∑\tsum\n"
    "∫\tintegral\n";
inline constexpr char SIGNS[] =
    "=\tequals\n"
    "<\tis less than\n"
    ">\tis greater than\n"
    "≤\tis at most\n"
    "≥\tis at least\n"
    "≠\tis not equal to\n"
    "≈\tis about\n"
    "×\ttimes\n"
    "÷\tdivided by\n"
    "±\tplus or minus\n"
    "+\tplus\n"
    "-\tminus\n"
    "−\tminus\n"
    "*\ttimes\n"
    "√\troot\n"
    "∞\tinfinity\n"
    "==\tequals\n"
    "!=\tis not equal to\n"
    "<=\tis at most\n"
    ">=\tis at least\n"
    "->\tto\n"
    "=>\tto\n"
    "∑\tsum\n"
    "∫\tintegral\n"
    "#\thash\n"
    "€\teuro\n"
    "$\tdollar\n"
    "£\tpound\n"
    "¥\tyen\n"
    "₩\twon\n"
    "¢\tcents\n"
    "§\tsection\n"
    "©\tcopyright\n"
    "®\tregistered\n"
    "™\ttrademark\n"
    "°\tdegrees\n"
    "№\tnumber\n"
    "†\tdagger\n"
    "¶\tparagraph\n"
    "→\tto\n"
    "/\tslash\n"
    "′\tprime\n"
    "″\tdouble prime\n"
    "‰\tper mille\n";
inline constexpr char ORDINAL[] =
    R"~((?<![\w.,])(?P<number>(?:\d{1,3}(?:,\d{3}){1,11}(?!\d)|\d{1,36}))(?P<suffix>st|nd|rd|th|ST|ND|RD|TH))~"
    "(?![A-Za-z0-9])";
inline constexpr char LONG_WORD[] =
    R"~([^\W\d]{4} ?\Z)~";
inline constexpr char QUARTERS[] =
    "NE\tNortheast\n"
    "NW\tNorthwest\n"
    "SE\tSoutheast\n"
    "SW\tSouthwest\n";
}

namespace kokoro::text::tables::clauses {
inline constexpr char MARKS[] =
    ";\t;\n"
    ":\t:\n"
    ",\t,\n"
    ".\t.\n"
    "!\t!\n"
    "?\t?\n"
    "—\t—\n"
    "…\t…\n"
    "\"\t\"\n"
    "(\t(\n"
    ")\t)\n"
    "“\t“\n"
    "”\t”\n"
    "«\t“\n"
    "»\t”\n"
    "„\t“\n"
    "–\t—\n"
    "-\t—\n"
    "।\t.\n"
    "॥\t.\n"
    "。\t.\n"
    "、\t,\n"
    "，\t,\n"
    "！\t!\n"
    "？\t?\n"
    "：\t:\n"
    "；\t;\n"
    "،\t,\n"
    "؛\t;\n"
    "؟\t?\n";
inline constexpr char TOKEN[] =
    R"~((?:(?P<mark>(?:\.{2,}|--+|[—…]|(?<!\w)[;:,\.!\?—…"\(\)“”«»„–।॥。、，！？：；،؛؟¿¡‘’'‹›\[\]\{\}\*_`·・「」『』]|[)~"
    R"~(;:,\.!\?—…"\(\)“”«»„–।॥。、，！？：；،؛؟¿¡‘’'‹›\[\]\{\}\*_`·・「」『』](?!\w)|(?<!\S)-(?!\S)))|(?P<word>(?:(?!(?)~"
    R"~(:\.{2,}|--+|[—…]|(?<!\w)[;:,\.!\?—…"\(\)“”«»„–।॥。、，！？：；،؛؟¿¡‘’'‹›\[\]\{\}\*_`·・「」『』]|[;:,\.!\?—…"\(\)~"
    R"~()“”«»„–।॥。、，！？：；،؛؟¿¡‘’'‹›\[\]\{\}\*_`·・「」『』](?!\w)|(?<!\S)-(?!\S)))\S)+))(?P<space>\s*))~";
}

namespace kokoro::text::tables::bundled {
inline constexpr char CLOSED[] =
    R"~(\](?!\()|\))~";
}

namespace kokoro::text::tables::spanish_numbers {
inline constexpr char BELOW_30[] =
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis d"
    "iecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veinti"
    "séis veintisiete veintiocho veintinueve";
inline constexpr char TENS[] =
    "treinta cuarenta cincuenta sesenta setenta ochenta noventa";
inline constexpr char HUNDREDS[] =
    "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecient"
    "os";
inline constexpr char LETTERS[] =
    "a\ta\n"
    "b\tbe\n"
    "c\tce\n"
    "d\tde\n"
    "e\te\n"
    "f\tefe\n"
    "g\tge\n"
    "h\thache\n"
    "i\ti\n"
    "j\tjota\n"
    "k\tka\n"
    "l\tele\n"
    "m\teme\n"
    "n\tene\n"
    "ñ\teñe\n"
    "o\to\n"
    "p\tpe\n"
    "q\tcu\n"
    "r\terre\n"
    "s\tese\n"
    "t\tte\n"
    "u\tu\n"
    "v\tuve\n"
    "w\tuve_doble\n"
    "x\tequis\n"
    "y\tye\n"
    "z\tzeta\n";
inline constexpr char SIGNS[] =
    "%\tpor ciento\n"
    "&\ty\n"
    "+\tmás\n"
    "=\tigual a\n"
    "@\tarroba\n"
    "€\teuros\n"
    "$\tdólares\n"
    "£\tlibras\n"
    "°\tgrados\n"
    "º\to\n"
    "ª\ta\n"
    "#\talmohadilla\n"
    "×\tpor\n"
    "/\tbarra\n"
    "-\t\n";
inline constexpr char ABBREVIATIONS[] =
    "dr\tdoctor\n"
    "dra\tdoctora\n"
    "sr\tseñor\n"
    "sra\tseñora\n";
inline constexpr char UNITS[] =
    "km\tkilómetros\n"
    "kg\tkilos\n"
    "cm\tcentímetros\n"
    "mm\tmilímetros\n"
    "dr\tdoctor\n"
    "dra\tdoctora\n"
    "sr\tseñor\n"
    "sra\tseñora\n";
inline constexpr char PARTS[] =
    R"~(\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?|[^\W\d_]+|\S)~";
}

namespace kokoro::text::tables::spanish_rules {
inline constexpr char SOUNDS[] =
    "ch\tʧ\n"
    "^sh\tʃ\n"
    "sh\ts\n"
    "ph\tf\n"
    "(?<![aeiouáéíóú])h|h(?![aeiouáéíóú])\t\n"
    "^ps\ts\n"
    "^x\ts\n"
    "(?<=m[eé])x(?=ic)\tj\n"
    "x\tks\n"
    "ck\tk\n"
    "ll\tʎ\n"
    "rr|^r|(?<=[nls])r\tR\n"
    "zz\tʦ\n"
    "([^aeiouáéíóúlrR])\\1$\t\\1\n"
    "qu(?=[eiéí])\tk\n"
    "q\tk\n"
    "g(?=[eiéí])\tx\n"
    "gu(?=[eiéí])\tg\n"
    "gü\tgU\n"
    "ü\tu\n"
    "c(?=[eiéí])|z\tθ\n"
    "c\tk\n"
    "j\tx\n"
    "v\tb\n"
    "ñ\tɲ\n"
    "y(?=[aeiouáéíóú])\tʝ\n"
    "(?<=[aeiouáéíóú])y$\tY\n"
    "y\ti\n";
inline constexpr char NUCLEUS[] =
    "(?P<glide>U|[iu](?=[aeoáéóíú]|(?<=i)u|(?<=u)i))?(?P<vowel>[aeiouáéíóú])(?P<off>(?<=[aeoáéó])[iu](?!["
    "aeoáéóíú])|Y)?";
inline constexpr char DIPHTHONGS[] =
    "ai\tI\n"
    "au\tW\n"
    "ei\tA\n"
    "eu\teʊ\n"
    "oi\toɪ\n"
    "ou\tow\n"
    "ui\tuj\n"
    "iu\tiw\n"
    "ii\tij\n";
inline constexpr char SYLLABIC[] =
    "(?:[^aeiouáéíóúh][lr]|R)[iu]$|[lrʎ]u$|U$";
inline constexpr char CLOSED_BY_N[] =
    "n[^aeiouáéíóú]";
inline constexpr char ALLOPHONES[] =
    "n(?= ?[bp]| ?f[lr])\tm\n"
    "ng(?= |$)\tŋ\n"
    "n(?= ?[gx])\tŋ\n"
    "(?<=[aeiouɪʊ])pt\tpːt\n"
    "(?<![mn])(?<![mn] )(?<!^)b(?![tnbd]| [^aeiouˈˌ]|$)\tβ\n"
    "(?<!n)(?<!n )(?<!^)d(?![mks]| [^aeiouˈˌ]|$)\tð\n"
    "(?<![nŋ])(?<![nŋ] )(?<!^)g(?![mnd]| [^aeiouˈˌ]|$)\tɣ\n"
    "g\tɡ\n"
    "r\tɾ\n"
    "R\tr\n";
inline constexpr char UNSTRESSED[] =
    "a al con de del e el en la las le les lo los me mi mis nos o os por que quien se si sin su sus te tr"
    "as tu tus u y";
inline constexpr char WEAKLY_STRESSED[] =
    "aunque como cuando desde donde entre hacia hasta mientras nuestra nuestro para pero porque quienes s"
    "egún sobre";
}

namespace kokoro::text::tables::italian_numbers {
inline constexpr char BELOW_20[] =
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici"
    " sedici diciassette diciotto diciannove";
inline constexpr char TENS[] =
    "venti trenta quaranta cinquanta sessanta settanta ottanta novanta";
inline constexpr char ORDINALS[] =
    "primo secondo terzo quarto quinto sesto settimo ottavo nono decimo";
inline constexpr char MONTHS[] =
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre";
inline constexpr char LETTERS[] =
    "a\ta\n"
    "b\tbi\n"
    "c\tci\n"
    "d\tdi\n"
    "e\te\n"
    "f\teffe\n"
    "g\tgi\n"
    "h\tacca\n"
    "i\ti\n"
    "j\ti_lunga\n"
    "k\tcappa\n"
    "l\telle\n"
    "m\temme\n"
    "n\tenne\n"
    "o\to\n"
    "p\tpi\n"
    "q\tcu\n"
    "r\terre\n"
    "s\tesse\n"
    "t\tti\n"
    "u\tu\n"
    "v\tvu\n"
    "w\tdoppia_vu\n"
    "x\tics\n"
    "y\tipsilon\n"
    "z\tzeta\n";
inline constexpr char CURRENCIES[] =
    "€\teuro\n"
    "$\tdollari\n"
    "£\tsterline\n";
inline constexpr char SIGNS[] =
    "€\teuro\n"
    "$\tdollari\n"
    "£\tsterline\n"
    "%\tper cento\n"
    "&\te\n"
    "+\tpiù\n"
    "=\tuguale\n"
    "@\tchiocciola\n"
    "#\tcancelletto\n"
    "×\tper\n"
    "/\tbarra\n"
    ".\tpunto\n"
    "°\tgradi\n"
    "º\to\n"
    "ª\ta\n";
inline constexpr char ABBREVIATIONS[] =
    "sig\tsignor\n"
    "sigg\tsignori\n"
    "sig.ra\tsignora\n"
    "dott\tdottor\n"
    "dott.ssa\tdottoressa\n"
    "dr\tdottor\n"
    "prof\tprofessor\n"
    "prof.ssa\tprofessoressa\n"
    "avv\tavvocato\n"
    "ing\tingegner\n"
    "on\tonorevole\n"
    "pag\tpagina\n"
    "pagg\tpagine\n"
    "art\tarticolo\n"
    "artt\tarticoli\n"
    "cap\tcapitolo\n"
    "fig\tfigura\n"
    "vol\tvolume\n"
    "tel\ttelefono\n"
    "es\tesempio\n"
    "n\tnumero\n"
    "nr\tnumero\n"
    "ca\tcirca\n"
    "a.c\tavanti cristo\n"
    "d.c\tdopo cristo\n"
    "s.p.a\tesse pi a\n"
    "s.r.l\tesse erre elle\n"
    "p.es\tper esempio\n";
inline constexpr char UNITS[] =
    "km\tchilometri\n"
    "kg\tchili\n"
    "cm\tcentimetri\n"
    "mm\tmillimetri\n"
    "mq\tmetri quadrati\n"
    "km/h\tchilometri all'ora\n"
    "°c\tgradi\n"
    "°f\tgradi fahrenheit\n"
    "ecc\teccetera\n";
inline constexpr char DATE[] =
    R"~((?P<day>\d{1,2})[/.](?P<month>\d{1,2})[/.](?P<year>\d{4})|(\d{4})-(\d\d)-(\d\d))~";
inline constexpr char TIME[] =
    R"~(([01]?\d|2[0-4]):([0-5]\d))~";
inline constexpr char MONEY[] =
    R"~(([€$£])?(\d{1,3}(?:\.\d{3})+|\d+)(?:,(\d\d))?([€$£])?)~";
inline constexpr char ORDINAL[] =
    R"~((\d{1,6})([°ºª]))~";
inline constexpr char ROMAN[] =
    "(?=[IVX]{2})(X{0,3})(IX|IV|V?I{0,3})";
inline constexpr char PARTS[] =
    R"~(\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?|°[cf]|[^\W\d_]+(?:'[^\W\d_]+)*'?|\S)~";
}

namespace kokoro::text::tables::italian_rules {
inline constexpr char ENDINGS[] =
    "(?:([ae])ndo(?:l[oaie]|[smctv]i|ne|gli)|^(e)r(?:[aoi]|ano))$\tàèìòù\n"
    "(?:([aei])r(?:[smtcv]e|glie)(?:ne|l[oaie]))$\tàéìóù\n"
    "(?:(e)vol(?:[ei]|mente)|m(e)nt[eoi])$\tàéìóù\n"
    "(?:([aeiu])(?:vano|rono|vono)|([aeio])ssero|^[dn](e)(?:ll[aeo]|i)|^qu(e)ll[aeio])$\tàéìóù\n"
    "(?:^(?:[sndhtfpv]|st)(o)|([aio])(?:tesi|lisi)|([aio])bil[ei]|(e)bbe(?:ro)?|(i)scono|(e)cnic[oa])$\tàè"
    "ìòù\n"
    "(?:([aeiou])(?:(?:bbi|cci|gli|ss|ng|lg|sci)ano|scono)|^s(i)ano)$\tàéìóù\n"
    "(?:([aeiou])(?:[tngfslrmpdb]|st|ttr)ic(?:[oai]|h[ei])|(a)ic(?:[oai]|h[ei]))$\tàèìòù\n"
    "(?:([oi])(?:log|graf|metr|gen|fon|fag|fer|nim|ssid|drom)h?[oaie]|([iae])(?:ssim|sim)[oaie])$\tàèìòù\n"
    "(?:([aiou])col[oaie]|([aiuo])gin[ei]|(u)din[ei]|([aio])(?:b|v|g|mp|t)ol[oaie]|(o)rmul[oaie])$\tàèìòù\n"
    "(?:([aeiou])(?:n[gd]|rg|gg|lv|lg|mp|st)e(?:re|rs?i|rl[oaie]))$\tàèìòù\n"
    "(?:([aeiou])(?:tt|rr)e(?:re|rs?i|rl[oaie]))$\tàéìóù\n"
    "(?:([iuo])(?:[dgmv]ere)|([aeiou])(?:ng|nd|gg|lg|rg|rr|ss|gli)ono|([aeiou])[^aeiou]+(?:[aiu]s|um))$\tà"
    "èìòù\n"
    "(?:(?:log|raf|er|pat|m|rch|fon)(i)[ae])$\tàèìòù\n"
    "(?:(e)(?:[oaei]|n[dtzs][oaei]|(?:ll|r[bgnrstv]|st|mp|lt|[ml])[oaie]))$\tàèìòù\n"
    "(?:(o)(?:rt|tt|ll|lt|lv|rd|rz|ss|pp|cc|[dbfptv])[oaie]|([oe])[rldpn]i[oae]|(o)gg?i[oa])$\tàèìòù\n";
inline constexpr char NUCLEUS[] =
    "[aeo]|[iu](?![aeiou])";
inline constexpr char VOICED_Z[] =
    R"~(\bz|(?<=i)zz(?=a|er|o|i(?:a|no?$|$)))~";
inline constexpr char SOUNDS[] =
    "c'(?=[eièéì])\tʧ\n"
    "gl'\tʎ\n"
    "ch?'\tk\n"
    "d'\td\n"
    "ph\tf\n"
    "sh\tʃ\n"
    "th\tt\n"
    "ck\tk\n"
    "x\tks\n"
    "j\tʤ\n"
    "(?<=[aeiouàèéìòóù])y(?=[aeiouàèéìòóù])\tj\n"
    "y\ti\n"
    "gli(?=[aeiouàèéìòóù])|(?<=[aeiouàèéìòóù])gl(?=[iì])(?!i[cfg])\tʎ\n"
    "(?<=[àèéìòóù])gn(?=[aeiou]$)\tɲɲ\n"
    "gn\tɲ\n"
    "sci(?=[aouàòóùeèé])|sc(?=[eièéì])\tʃ\n"
    "ch\tk\n"
    "gh\tG\n"
    "cqu\tkkw\n"
    "qu\tkw\n"
    "q\tk\n"
    "gu(?=[aeiouàèéìòóù])\tGw\n"
    "cci(?=[aouàòóùeèé])|cc(?=[eièéì])\tʧʧ\n"
    "ggi(?=[aouàòóùeèé])|gg(?=[eièéì])\tʤʤ\n"
    "ci(?=[aouàòóùeèé])|c(?=[eièéì])\tʧ\n"
    "gi(?=[aouàòóùeèé])|g(?=[eièéì])\tʤ\n"
    "c\tk\n"
    "g\tG\n"
    "h\t\n"
    "(?<!s)s(?=[bdGvmnlrʤ])|(?<=[aeiouàèéìòóù])s(?=[aeiouàèéìòóù])\tZ\n"
    "z\tʦ\n"
    "ż\tʣ\n"
    "Z\tz\n"
    "G\tɡ\n"
    "n(?=ɡ)\tŋ\n"
    "(?<=ìss)ero$\teɾo\n"
    "ss\tS\n"
    "rr\trɾ\n"
    "([pbtdkɡʧʤʦʣ])\\1\t\\1ː\n"
    "(?<=[aà])r(?=[aà](?!i$))|(?<=[aeiou])r(?=[àò]$)\tɾ\n"
    "(?<=r)ài$\tàːɪ\n"
    "([àa])i$\t\\1j\n"
    "([aà])i(?=[^aeiouàèéìòóù'])\t\\1Y\n"
    "\\bu(?=[aeiouàèéìòóù])\tw\n"
    "\\bi(?=[aeiouàèéìòóù])\tj\n"
    "(?<=..)i(?=èr[eaio]|ènte$)|(?<=ʦ)i(?=ó|onàl)|(?<=z)i(?=[oó])\tI\n"
    "(?:(?<=[lrɾou])|(?<=[nv]v))i(?=[aeiouàèéìòóù])|(?<=[^aeiouàèéìòóù])i(?=[oa]$)\tI\n"
    "(?<=[àèéìù])i(?=[oa])|(?<=[òó])i(?=a)\tI\n"
    "i(?=[aeiouàèéìòóù])\tj\n"
    "I\ti\n"
    "(?<=[^aeiouàèéìòóù'])i$\tɪ\n"
    "u\tʊ\n"
    "'\t\n";
inline constexpr char IRREGULAR[] =
    "non\tnon\n"
    "gli\tʎɪ\n"
    "dei\tdˌA\n"
    "quei\tkwˈA\n"
    "cui\tkˈuj\n"
    "sì\tsˈiː\n";
inline constexpr char LENGTHENED[] =
    "a e il in o u è";
inline constexpr char UNSTRESSED[] =
    "a ad ai al c c'è ce che chi ci col con d da dai dal de dei del di e ed fra fu gli ha hai ho i il in "
    "l la le li lo ma mai me mi ne nel non o per più quel se si su sul te ti tra tu un ve vi è";
inline constexpr char WEAKLY_STRESSED[] =
    "abbiamo abbiate agli alcun alcuna alcune alcuni alla alle allo anche avessero avessimo avete aveva a"
    "vevi avevo avranno avrebbe avrei avremo avrete avrà avrò cioè come contro dagli dalla dalle dallo de"
    "gli della delle dello ebbe egli era eri ero essa esse essi esso fossero fossi fossimo furono hanno l"
    "ei loro lui mentre mia mie miei mio neanche nessun nessuna nessuno noi nostra nostre nostri nostro o"
    "gni oltre perché pure quegli quella quelle questa queste questi questo saranno sarebbe sarebbero sar"
    "ei saremo sarete sarà sarò sei senza sia siamo siate siete sono sua sue sugli sui sulla sulle sullo "
    "suo suoi tua tue tuo tuoi una verso vostra vostre vostri vostro vuol vuole";
}
