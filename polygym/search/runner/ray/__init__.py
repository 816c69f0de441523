"""Many machines: sweeps, collections, tunings and episodes' ends on a cluster, carried by Ray.

``ray_transport`` is Ray, behind the protocol of ``fleet.transport``, and says how a cluster is.
``node`` is what a node does when asked; it knows nothing of Ray. ``fleet`` keeps the nodes busy.

Of a sweep, ``sweep_tasks`` are done on nodes, ``sweeps`` has the jobs and drives the fleet, and
``sweep_ledger`` writes down what comes; a ``collection`` has its tasks and jobs together. For a
search, ``ray_runner`` has candidates measured by the tasks and jobs of ``measurements``;
``episode_rewards`` has ends of episodes measured by them while agents go on.
"""
