"""What the papers compare with: copies, edits, a fine-tuned Flan-T5, a language model that is asked."""
