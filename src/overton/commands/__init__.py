"""Commands that studies add, one file per study.

A study's declaration names its commands. Overton imports a command when it is called.
"""
