"""Large models of parts that are alike: model in; system and statements by numbers, in arrays over all that are alike, out."""
