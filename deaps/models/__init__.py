"""Networks: the encoder, its heads and teacher, TF-C's own model, and files of encoders."""
