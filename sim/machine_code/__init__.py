"""Execution of compiled kernels: the machine code of one scheduler of an SM, cycle by cycle."""

from __future__ import annotations

from twill.sim.machine_code.costs import Costs, costs_of
from twill.sim.machine_code.launch import Kernel
from twill.sim.machine_code.prediction import Prediction, Waiting, predicted

__all__ = ["Costs", "Kernel", "Prediction", "Waiting", "costs_of", "predicted"]
