"""The teacher's mind as a language model: prompts, schemas, and what happens when it fails."""
