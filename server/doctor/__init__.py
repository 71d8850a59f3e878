"""`umigame doctor`: what self-hosters get wrong, checked on the machine itself."""
