"""The private click graph (Release-Data): queries, clicks and what was asked next."""
