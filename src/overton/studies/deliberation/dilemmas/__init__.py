"""Making dilemmas from a forum: code that selects posts, and a judge for comments whose verdict no pattern matches."""
