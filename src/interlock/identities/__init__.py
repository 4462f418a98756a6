"""Ways to tell who somebody is, each behind the `Identity` port."""
