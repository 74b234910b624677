"""queryveil publishes search logs without exposing the people in them."""
