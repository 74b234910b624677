"""What is checked of the releases of one method alone."""
