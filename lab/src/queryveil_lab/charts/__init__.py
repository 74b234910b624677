"""Draws the charts of studies and audits with Vega-Lite.

May import: queryveil.
"""
