"""The page of the rolling eggs, retyped by hand: x (26,), p (14 numbers and vectors), m (3,) -> x' (26,).

Letters are those of the page; components count from 1 there and from 0 here. Numbers in brackets refer to the equations of the
page as typed (checksum 8a8d59578c79), and Dk to its functions, some of which the page now writes as formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import cos, sin, sqrt

NUMBERS = {
    "egg 2.inertia.inertia": np.array([1.5332794929832505e-5, 1.5332794929832505e-5, 1.2530893617021274e-5, 0.06, 0.06, 0.06]),
    "egg 2.pose.mass": 0.06,
    "egg 2.pose.centre of mass": np.array([0.0, 0.0, 0.0]),
    "egg 2.pose.gravity": np.array([0.0, 0.0, 0.0]),
    "contact.spring.stiffness": np.array([2.0, 20000.0, 20000.0, 20000.0]),
    "contact.damper.damping": np.array([0.002, 10.0, 10.0, 10.0]),
    "contact.kinematics.surface 1 f": 0.035,
    "contact.kinematics.surface 1 S": 0.084,
    "contact.kinematics.surface 1 zB": 0.010425531914893621,
    "contact.kinematics.surface 2 f": 0.035,
    "contact.kinematics.surface 2 S": 0.084,
    "contact.kinematics.surface 2 zB": 0.010425531914893621,
    "egg 1.pose.fixed": np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "gravity.spring.force": 0.5886,
}
S_FREE = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]])  # (18)
S_CON = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]])  # (22)
CONTACT = 1


def rates(x: np.ndarray, p: Mapping[str, Any], m: np.ndarray) -> np.ndarray:
    """Return x' in the modes m of switch, chart 1 and chart 2."""
    I, m_1_4, m_centre, g, K, D, f_s1, S_s1, zB_s1, f_s2, S_s2, zB_s2, H, F = p.values()
    P, H_egg, s, q1, q2, (alpha, d), r = np.split(x, [6, 13, 17, 19, 21, 23])
    m_2_12, m_2_13, m_2_14 = m
    T_egg = P / I  # (2)
    H_C2_O2, M2, K2, T2 = gauss(q2, m_2_14, f_s2, S_s2, zB_s2)  # (30)
    H_C2 = pose(H_egg) @ H_C2_O2  # (31)
    H_C1_O1, M1, K1, T1 = gauss(q1, m_2_13, f_s1, S_s1, zB_s1)  # (32)
    H_C1 = pose(H) @ H_C1_O1  # (33)
    T_egg_2_00 = adjoint(pose(H_egg)) @ T_egg  # (9)
    T_egg_1_00 = np.zeros(6)  # (37)
    f_1 = T_egg_2_00 - T_egg_1_00  # (12)
    to_contact = adjoint(np.linalg.inv(H_C2))
    T_O2 = to_contact @ f_1  # (13)
    T_bar = T_O2 if m_2_12 == CONTACT else np.zeros(6)  # (15)
    s_dot = S_CON @ T_bar  # (23)
    e_2_9 = K * s  # (26)
    e_2_10 = damping(s_dot, D, e_2_9)  # (28)
    e_2_27 = e_2_9 + e_2_10  # (25)
    e_1_27 = S_CON.T @ e_2_27  # (24)
    e_1_25 = S_FREE.T @ np.zeros(2)  # (19), (21)
    W_C2 = e_1_25 + e_1_27 if m_2_12 == CONTACT else np.zeros(6)  # (16), (17)
    W_0 = to_contact.T @ W_C2  # (14)
    e_4_4 = F * r / np.linalg.norm(r)  # (47)
    N_41, N_43 = origin(H_egg), origin(H)  # (40), (44)
    e_1_41 = N_41.T @ e_4_4  # (41)
    r_dot = N_41 @ T_egg_2_00 - N_43 @ T_egg_1_00  # (42), (43), (46)
    e_2_15 = W_0 + e_1_41  # (11)
    e_1_15 = adjoint(pose(H_egg)).T @ e_2_15  # (10)
    e_1_3 = euler(P) @ T_egg  # (4), (5)
    e_1_4 = gravity(H_egg, m_1_4, m_centre, g)  # (6)
    P_dot = -e_1_3 - e_1_4 - e_1_15  # (1)
    H_dot = pose_rate(H_egg, T_egg)  # (7)
    T_hat = drawn(H_C1, H_C2, K1, K2, alpha, d, T_O2)  # (34)
    q1_dot, q2_dot, alpha_dot, d_dot = contact_rates(M1, K1, T1, M2, K2, T2, alpha, d, T_hat)  # (35)
    return np.concatenate([P_dot, H_dot, s_dot, q1_dot, q2_dot, [alpha_dot, d_dot], r_dot])


def pose(H):
    w, x, y, z = H[:4]
    turn = np.array(
        [
            [-(y**2) - z**2, x * y - w * z, x * z + w * y],
            [x * y + w * z, -(x**2) - z**2, y * z - w * x],
            [x * z - w * y, y * z + w * x, -(x**2) - y**2],
        ]
    )
    whole = np.eye(4)
    whole[:3, :3] = np.eye(3) + 2.0 / (w**2 + x**2 + y**2 + z**2) * turn
    whole[:3, 3] = H[4:]
    return whole


def adjoint(H):
    R, (p1, p2, p3) = H[:3, :3], H[:3, 3]
    tilde = np.array([[0.0, -p3, p2], [p3, 0.0, -p1], [-p2, p1, 0.0]])
    return np.block([[R, np.zeros((3, 3))], [tilde @ R, R]])


def euler(P):
    """Evaluate D1."""
    P1, P2, P3, P4, P5, P6 = P
    J = np.zeros((6, 6))
    J[0, 1], J[0, 2] = P3, -P2
    J[0, 4] = J[3, 1] = P6
    J[0, 5] = J[3, 2] = -P5
    J[1, 0], J[1, 2] = -P3, P1
    J[1, 3] = J[4, 0] = -P6
    J[1, 5] = J[4, 2] = P4
    J[2, 0], J[2, 1] = P2, -P1
    J[2, 3] = J[5, 0] = P5
    J[2, 4] = J[5, 1] = -P4
    return J


def gravity(H, m, a, g):
    """Evaluate D2."""
    H1, H2, H3, H4 = H[:4]
    a1, a2, a3 = a
    g1, g2, g3 = g
    s1 = 2 / (H1**2 + H2**2 + H3**2 + H4**2)
    s2 = H3 * s1
    s3 = H2 * s2
    s4 = H4 * s1
    s5 = H1 * s4
    s6 = H2 * s1
    s7 = H2 * s6
    s8 = H4 * s4
    s9 = H1 * s6
    s10 = H3 * s4
    s11 = (s3 - s5) * m * g1 + (1 - (s7 + s8)) * m * g2 + (s9 + s10) * m * g3
    s12 = H1 * s2
    s13 = H2 * s4
    s14 = H3 * s2
    s15 = (s12 + s13) * m * g1 + (s10 - s9) * m * g2 + (1 - (s7 + s14)) * m * g3
    s16 = (1 - (s14 + s8)) * m * g1 + (s5 + s3) * m * g2 + (s13 - s12) * m * g3
    return np.array([a3 * s11 - a2 * s15, a1 * s15 - a3 * s16, a2 * s16 - a1 * s11, -s16, -s11, -s15])


def pose_rate(H, T):
    """Evaluate D3, which does not use the position in H."""
    H1, H2, H3, H4 = H[:4]
    T1, T2, T3, T4, T5, T6 = T
    s1 = 0.5 * T1
    s2 = 0.5 * T2
    s3 = 0.5 * T3
    s4 = H1**2 + H2**2 + H3**2 + H4**2
    s5 = 0.25 * (abs(s1) + abs(s2) + abs(s3)) * (1 - s4)
    s6 = 2 / s4
    s7 = H3 * s6
    s8 = H3 * s7
    s9 = H4 * s6
    s10 = H4 * s9
    s11 = H2 * s7
    s12 = H1 * s9
    s13 = H1 * s7
    s14 = H2 * s9
    s15 = H2 * s6
    s16 = H2 * s15
    s17 = H3 * s9
    s18 = H1 * s15
    b1 = H1 * s5 - (H2 * s1 + H3 * s2 + H4 * s3)
    b2 = H2 * s5 + H1 * s1 + H3 * s3 - H4 * s2
    b3 = H3 * s5 + H1 * s2 + H4 * s1 - H2 * s3
    b4 = H4 * s5 + H1 * s3 + H2 * s2 - H3 * s1
    b5 = T4 * (1 - (s8 + s10)) + T5 * (s11 - s12) + T6 * (s13 + s14)
    b6 = T4 * (s12 + s11) + T5 * (1 - (s16 + s10)) + T6 * (s17 - s18)
    b7 = T4 * (s14 - s13) + T5 * (s18 + s17) + T6 * (1 - (s16 + s8))
    return np.array([b1, b2, b3, b4, b5, b6, b7])


def damping(a, D, e):
    """Evaluate D5."""
    return np.array([a[0] * D[0], a[1] * D[1], a[2] * D[2], max(a[3] * D[3], -e[3])])


def gauss(q, m, f, S, z):
    """Evaluate D6."""
    s1, s2, s3, s4 = sin(q[0]), cos(q[0]), sin(q[1]), cos(q[1])
    s5 = m == 0
    s6 = s1 * s3
    s7 = s2 if s5 else s6
    s8 = 2 * S + f * s7
    s9 = sqrt(s8**2 - 3 * (S**2 - f**2))
    s10 = s8 - s9
    s11 = s10 / 3
    s12 = 2 * s8 * f
    s13 = 0.5 / s9
    s14 = f - s12 * s13
    s15 = s14 / 3
    s16 = s2 * s3
    s17 = -s1 if s5 else s16
    s18 = s15**2 * s17**2
    s19 = s11**2 + s18
    s20 = sqrt(s19)
    s21 = 1 / s20
    s22 = s2 * s4
    s23 = s22 if s5 else -s1
    s24 = s1 * s4
    s25 = s24 if s5 else s2
    s26 = s21 * (s23 * s11 + s17 * s25 * s15)
    s27 = s7 * s15
    s28 = s21 * (s17 * s11 + s17 * s27)
    s29 = s6 if s5 else s24
    s30 = s11 + s27
    s31 = 1 - s7**2
    s32 = sqrt(s11**2 + s15**2 * s31)
    s33 = 1 / s32
    s34 = s30 * s33
    s35 = s29 * s34
    s36 = s16 if s5 else s22
    s37 = s21 * (s36 * s11 + s17 * s29 * s15)
    s38 = s7 * s34 - s15 * s33
    s39 = s25 * s34
    s40 = 0 if s5 else s4
    s41 = s17 * s40
    s42 = s15**2 * s41
    s43 = s21 * s42
    s44 = s11 * s30
    s45 = (2 * f * f * s13 - 2 * s13 * s13**2 * s12 * s12) / 3
    s46 = s45 * (s30 - s27) + s15 * 2 / 3 * s14
    s47 = s21**2 * s33 * (s44 + s46 * s17**2)
    s48 = 3 / s10
    s49 = s48 * s20 * s33
    s50 = s15 * s45
    s51 = s50 * s17**2
    s52 = s11 * s15
    s53 = s49 * s21**2 * s21**2 * s40 * (s11**2 * (s51 + s7 * s15**2) + s52 * (s18 + s19))
    H = np.array(
        [
            [s26, s28 * s35 - s37 * s38, s39, s25 * s11],
            [s37, s26 * s38 - s28 * s39, s35, s29 * s11],
            [s28, s37 * s39 - s26 * s35, s38, z + s7 * s11],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    M = np.array([[s20, s1 * s43], [0.0, s1 * s21 * s11 * s32]])
    K12 = -s33 * s33 * s21**2 * s41 * (s30 * s15**2 - s11 * s46)
    K = np.array([[s47, K12], [K12, s48 * s34 + s33 * s33 * s33 * (s44 + s46 * s31) - s47]])
    T2 = s49 * (s21 * s49 * (s17 * (s52 - s50 * s40**2) - (s52 - s51) * s21**2 * s40 * s42) + s43 * s53) + s21 * s2 / s1
    return H, M, K, np.array([-s53, T2])


def drawn(H, a, K, b, c, d, T):
    """Evaluate D7."""
    (H11, _, H13, H14), (H21, _, H23, H24), (H31, _, H33, H34) = H[:3]
    (a11, a12, _, a14), (a21, a22, _, a24), (a31, a32, _, a34) = a[:3]
    (K11, K12), (_, K22) = K
    (b11, b12), (_, b22) = b
    T1, T2, T3, T4, T5, T6 = T
    s1 = cos(c)
    s2 = sin(c)
    s3 = 0.5 * (K11 + K22)
    s4 = 1 - 2 * s2 * s2
    s5 = 0.5 * (K11 - K22)
    s6 = 2 * s1 * s2
    s7 = s4 * s5 - K12 * s6
    s8 = s3 + s7
    s9 = b12 * d * (s6 * s5 + K12 * s4)
    s10 = s3 - s7
    s11 = (
        abs(T1)
        + abs(T2)
        + abs(T3)
        + (abs(T4) + abs(T5)) * (abs(s8 + b11 * (1 + d * s8) - s9) + abs(s10 + b22 * (1 + d * s10) - s9))
    )
    s12 = H13 * a12 + H23 * a22 + H33 * a32
    s13 = H13 * a11 + H23 * a21 + H33 * a31
    s14 = a14 - H14
    s15 = a24 - H24
    s16 = a34 - H34
    s17 = H13 * s14 + H23 * s15 + H33 * s16
    e1 = T1 - s11 * s12
    e2 = T2 + s11 * s13
    e3 = T3 - s11 * (s1 * (H11 * a12 + H21 * a22 + H31 * a32) + s2 * (H11 * a11 + H21 * a21 + H31 * a31))
    e4 = T4 + s11 * (a11 * s14 + a21 * s15 + a31 * s16 - s17 * s13)
    e5 = T5 + s11 * (a12 * s14 + a22 * s15 + a32 * s16 - s17 * s12)
    e6 = T6 + s11 * (d - s17)
    return np.array([e1, e2, e3, e4, e5, e6])


def contact_rates(M, K, T, a, b, c, d, e, f):
    """Evaluate D8."""
    (M11, M12), (_, M22) = M
    (K11, K12), (_, K22) = K
    (a11, a12), (_, a22) = a
    (b11, b12), (_, b22) = b
    f1, f2, f3, f4, f5, f6 = f
    s1 = cos(d)
    s2 = sin(d)
    s3 = 0.5 * (K11 + K22)
    s4 = 1 - 2 * s2 * s2
    s5 = 0.5 * (K11 - K22)
    s6 = 2 * s1 * s2
    s7 = s4 * s5 - K12 * s6
    s8 = s3 + s7
    s9 = 1 + e * s8
    s10 = s6 * s5 + K12 * s4
    s11 = e * s10
    s12 = b12 * s11
    s13 = s8 + b11 * s9 - s12
    s14 = s3 - s7
    s15 = 1 + e * s14
    s16 = s14 + b22 * s15 - s12
    s17 = b12 * s15 - b11 * s11 - s10
    s18 = b12 * s9 - b22 * s11 - s10
    s19 = 1 / (s13 * s16 - s17 * s18)
    s20 = b11 * f4 + b12 * f5 - f2
    s21 = f1 + b12 * f4 + b22 * f5
    s22 = s19 * (s16 * s20 - s17 * s21)
    s23 = s19 * (s13 * s21 - s18 * s20)
    s24 = s1 * s22 - s2 * s23
    s25 = s2 * s22 + s1 * s23
    s26 = s25 / M22
    s27 = s9 * s22 - s11 * s23 - f4
    s28 = s15 * s23 - s11 * s22 - f5
    s29 = s28 / a22
    q = np.array([(s24 + M12 * s26) / M11, -s26])
    g = np.array([(s27 - a12 * s29) / a11, s29])
    h = f3 + T[0] * s24 - T[1] * s25 + c[0] * s27 + c[1] * s28
    return q, g, h, -f6


def origin(H):
    """Evaluate D17."""
    _, _, _, _, H5, H6, H7 = H
    return np.array([[0, H7, -H6, 1, 0, 0], [-H7, 0, H5, 0, 1, 0], [H6, -H5, 0, 0, 0, 1]])
