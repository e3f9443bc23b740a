"""Executors of long work: the threads of this process, or workers on this and other machines.

Such work comes in independent parts. The core only knows ``executors.Executor``, an argument.
"""
