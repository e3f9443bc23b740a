"""Executors of long work: the threads of this process, or workers on this and other machines.

Such work consists of independent parts. The core gets an ``executors.Executor`` as an argument.
"""
