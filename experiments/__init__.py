"""The paper's figures and tables, one folder each; ``tensorpmf reproduce`` runs them."""
