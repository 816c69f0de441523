"""Pictures of programs and spaces: ``canvas`` puts all on one page.

``instances`` and ``plot_sizes`` say what is shown, ``projection`` where; ``instance_plot`` and
``space_plot`` draw it.
"""
