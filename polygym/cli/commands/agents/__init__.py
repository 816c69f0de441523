"""Commands about agents, one module each, with tables and files as their results.

============  ==================================================================
``train``     ``polygym train``: train an agent as a YAML file describes it
``evaluate``  ``polygym evaluate``: let agents or rules act on programs
``compare``   ``polygym compare``: means with intervals
``validate``  ``polygym validate``: play results again, and check them
``film``      ``polygym film``: one episode as a film
============  ==================================================================
"""
