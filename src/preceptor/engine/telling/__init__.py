"""What an agent is told, and in what voice: from its assignments to the system message of a call."""
