"""Functional Mock-up Units (FMI 2.0 and 3.0, co-simulation) as sampled blocks of a graph."""

from screwbond.models.fmu.block import fmu_block

__all__ = ["fmu_block"]
