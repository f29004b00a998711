"""Checks of a study's judge: is it steady when asked again, and does it see what nobody can miss?"""
