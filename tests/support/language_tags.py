"""Names of languages as apps and systems write them, which both runtimes must read alike."""

LANGUAGE_TAGS = {
    "en-us": "a en eng en-US en-CA en-PH en-Latn-US en-US-x-twain en-",
    "en-gb": "b en-GB en-AU en-NZ en-IN en-UK en-001 eng-IE en-GB-oxendict",
    "es": "e es spa es-ES es-MX es-419 es-Latn-AR",
    "fr-fr": "f fr fra fre fr-CA fr-BE",
    "hi": "h hi hin hi-IN hi-Deva-IN",
    "it": "i it ita it-IT it-CH",
    "ja": "j ja jpn ja-JP",
    "pt-br": "p pt por pt-BR pt-PT",
    "zh": "z zh zho chi cmn zh-CN zh-TW zh-Hans zh-Hant-TW zh-cmn cmn-Hans-CN",
    None: "tlh de-DE yue zh-yue ast enm english e-ES us -es -",
}
"""Tags by the language that they choose; those under None name none of Kokoro's."""
