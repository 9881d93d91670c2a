"""All processes of MPI add their ranks."""

from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.Get_rank())
print(f"rank {world.Get_rank()} of {world.Get_size()}: sum {total}", flush=True)
