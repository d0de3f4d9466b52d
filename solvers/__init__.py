"""How a problem is answered: exact optima, lower bounds, scheduling policies."""
