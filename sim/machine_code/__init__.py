"""Execution of compiled kernels: the machine code of one scheduler of an SM, cycle by cycle."""

from __future__ import annotations

from twill.sim.machine_code.launch import Kernel
from twill.sim.machine_code.prediction import Prediction, Waiting, predicted

__all__ = ["Kernel", "Prediction", "Waiting", "predicted"]
