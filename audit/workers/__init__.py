"""Who does the work: the threads of this process, or workers on this and other machines.

What takes long comes in parts that do not depend on one another, and an *executor* does them. The
core knows no more of it than ``executors.Executor``, which it is given as an argument.
"""
