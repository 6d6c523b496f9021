"""What the speed of this project is measured with; what was measured is in ``results``."""
