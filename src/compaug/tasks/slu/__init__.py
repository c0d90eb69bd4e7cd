"""Spoken language understanding: an utterance has one intent, and slots on spans of its words.

Paper "Joint Text and Label Generation for Spoken Language Understanding", §2.1 and §2.3, with few labelled utterances.
"""
