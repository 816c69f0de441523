"""Device programs on a GPU of this machine, by NVIDIA's driver.

=====================  ===================================================================
``device``             A GPU: its properties, its stream, its memory
``memory_pool``        Memory of a device that is kept for the next who asks
``launch_plan``        What the host does, as a list of launches
``loaded_program``     Programs on a device: arguments, runs, times
``worker``             Programs on a GPU, run in another process
``device_evaluator``   Schedules under mappings to a GPU: compared with the CPU, timed
``server``             The process that holds a context of a GPU and runs programs there
=====================  ===================================================================
"""
