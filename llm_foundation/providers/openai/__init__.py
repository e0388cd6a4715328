"""What both of OpenAI's formats share, and the choice between them."""
