"""What the judges are asked: the templates and the one function that fills them."""
