"""HBDP: queries drawn from a noisy histogram of concepts for every user."""
