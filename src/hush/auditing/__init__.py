"""Evidence against a claim: attacks turned into lower bounds on epsilon, with confidence."""
