"""Matrices of a Stein kernel, from the derivatives of its base kernel."""

import numpy as np

import steinkit as sk


def stein_matrix(base, points, drift, covariance=None):
    """Return all k0(x_i, x_j), shape (n, n), for covariances of shape (n, d, d), by default the identity."""
    r = points[:, None] - points[None]
    u = (r**2).sum(axis=2)
    if covariance is None:
        covariance = np.tile(np.eye(points.shape[1]), (len(points), 1, 1))
    if isinstance(base, sk.IMQ):
        b, e = base.scale**2 + u, base.exponent
        phi, first, second = b**e, e * b ** (e - 1), e * (e - 1) * b ** (e - 2)
    else:
        phi = np.exp(-u / (2 * base.scale**2))
        first, second = -phi / (2 * base.scale**2), phi / (4 * base.scale**4)
    here, there = np.einsum("ikl,ijl->ijk", covariance, r), np.einsum("jkl,ijl->ijk", covariance, r)
    slope = np.einsum("ijk,jk->ij", here, drift) - np.einsum("ijk,ik->ij", there, drift)
    trace = np.einsum("ikl,jkl->ij", covariance, covariance)
    curvature = np.einsum("ijk,ijk->ij", here, there)
    return phi * (drift @ drift.T) + 2 * first * (slope - trace) - 4 * second * curvature
