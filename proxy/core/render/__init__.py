"""The two forms of an answer, each made from the other, by API dialect."""
