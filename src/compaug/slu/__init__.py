"""Spoken language understanding: an utterance has one intent, and slots on spans of its words (paper "Joint Text and Label Generation for Spoken
Language Understanding"; spec slu-joint-generation 1 and 4). The joint system's first task, with few labelled utterances."""
