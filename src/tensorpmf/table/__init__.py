"""What a table is: schema, codes, missing cells, row weights; reading; discretising."""
