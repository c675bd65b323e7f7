"""Taking turns: a message is accepted, its turn carried out, waited for, taken up again after a crash."""
