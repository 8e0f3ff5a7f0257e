"""One utterance: phonemes to tokens, through the stages, to samples."""
