"""Made sites whose true scheduler records, for each second, why each job did not start.

``kinds`` and ``planted`` declare all parameters, ``site.made`` makes a site. ``tests/sites``
measures how far the account of waits is from the truth.
"""
