"""The classes of `fiberscope.results`, by what they tell."""
