"""What people see when something is not there, or not done."""
