"""Tokenizers of the tiny backbones, learned from the texts of D_train; loaded without torch, for `compaug inspect`."""

from collections import Counter
from collections.abc import Sequence

from tokenizers import Regex, pre_tokenizers, trainers
from transformers import BertTokenizer, GPT2Tokenizer, PreTrainedTokenizerFast

# a letter with its marks, of scripts that put no blanks between words; Chinese signs are words each already
UNSPACED = r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hiragana}\p{Katakana}\p{Tibetan}\p{Javanese}\p{Balinese}]\p{M}*"
SENTINELS = 32  # marks of spans in one text


def wordpiece(texts: Sequence[str], spec) -> BertTokenizer:
    """A WordPiece tokenizer that lower-cases and drops accents, or with `spec.cased` leaves letters as they are.

    Characters beyond the most frequent quarter of the vocabulary become [UNK].

    The trainer numbers continuation characters in the order of a hash map, which differs from run to run, and ties
    between merges follow these numbers; so the characters are given to it in a fixed order.
    """
    normal = {"do_lower_case": False, "strip_accents": False} if spec.cased else {}
    blank = BertTokenizer(**normal)
    if spec.characters:
        apart = pre_tokenizers.Split(Regex(UNSPACED), "isolated")
        learner = blank.backend_tokenizer
        learner.pre_tokenizer = pre_tokenizers.Sequence([apart, learner.pre_tokenizer])
    words = Counter(word for text in texts for word in _words(blank.backend_tokenizer, text))
    pieces: Counter[str] = Counter()
    for word, count in words.items():
        for piece in _characters(word):
            pieces[piece] += count
    frequent = {piece for piece, _ in sorted(pieces.items(), key=lambda item: (-item[1], item[0]))[: spec.vocab // 4]}
    trainer = trainers.WordPieceTrainer(
        vocab_size=spec.vocab,
        special_tokens=[*blank.get_vocab(), *sorted(frequent)],
        limit_alphabet=spec.vocab,
        show_progress=False,
    )
    spelled = sorted(word for word in words if frequent.issuperset(_characters(word)))
    learner = blank.backend_tokenizer
    learner.train_from_iterator((" ".join([word] * words[word]) for word in spelled), trainer)
    if not spec.characters:
        return BertTokenizer(vocab=learner.get_vocab(), model_max_length=spec.max_positions, **normal)
    marks = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}
    whole = BertTokenizer(vocab=learner.get_vocab(), **normal).backend_tokenizer
    whole.pre_tokenizer = blank.backend_tokenizer.pre_tokenizer
    # BertTokenizer would put its own way of finding words in the place of this one when it is opened again
    return PreTrainedTokenizerFast(tokenizer_object=whole, model_max_length=spec.max_positions, **marks)


def _words(tokenizer, text: str) -> list[str]:
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))]


def _characters(word: str) -> list[str]:
    """The smallest pieces of a word: its first character, then continuations."""
    return [word[0], *(f"##{character}" for character in word[1:])]


def byte_level_bpe(texts: Sequence[str], spec) -> GPT2Tokenizer:
    """GPT-2's tokenizer with its own merges: any string can be written; `<|endoftext|>` has id 0."""
    blank = GPT2Tokenizer(vocab={"<|endoftext|>": 0}, model_max_length=spec.max_positions)
    return blank.train_new_from_iterator(
        (f" {text}" for text in texts),
        spec.vocab,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )


def byte_level_bpe_with_sentinels(texts: Sequence[str], spec) -> GPT2Tokenizer:
    """The decoder's kind of tokenizer with a padding token and what stands for spans: T5's marks, or BART's mask."""
    tokenizer = byte_level_bpe(texts, spec)
    bart = {"mask_token": "<mask>"}
    t5 = {"additional_special_tokens": [f"<extra_id_{at}>" for at in range(SENTINELS)]}
    tokenizer.add_special_tokens({"pad_token": "<pad>"} | (bart if spec.architecture == "bart" else t5))
    return tokenizer


TOKENIZERS = {"encoder": wordpiece, "decoder": byte_level_bpe, "seq2seq": byte_level_bpe_with_sentinels}
