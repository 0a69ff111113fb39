"""Language models as a seam: chat with a schema, engines, kept replies, the fence, prompts."""
