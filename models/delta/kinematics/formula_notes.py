"""Notes with the formulas of an arm and of the closure, in the notation of Bortoff 2018, for the operations that compute them.

Notes of several operations are combined line by line; they use the coordinates theta of the code, or the paper's phi.
"""

from __future__ import annotations

_ANGLES = (
    r"$\theta$ are the hinge angles, $\varphi$ the angles of the paper: $\theta_1 = \varphi_1$, and the distal link"
    r" points along $(\sin\theta_3, \cos\theta_3 \cos\theta_2, \cos\theta_3 \sin\theta_2) = (\sin\varphi_2 \sin\varphi_3,"
    r" \cos\varphi_2, \sin\varphi_2 \cos\varphi_3)$; $J_1$, $J_2$, $L_0$ to $L_3$, $L_{C1}$, $L_{C2}$, $M_1$ to $M_3$ and"
    r" $g$ are the parameters with these names."
)

INERTIA = (
    _ANGLES + "\n"
    r"$m = \begin{bmatrix} a & b \cos\theta_3 \cos\beta & -b \sin\theta_3 \sin\beta \\ b \cos\theta_3 \cos\beta &"
    r" k\,(\cos\theta_3)^2 & 0 \\ -b \sin\theta_3 \sin\beta & 0 & k \end{bmatrix}$, with $\beta = \theta_2 - \theta_1$, $a"
    r" = J_1 + M_1 L_{C1}^2 + L_1^2\,(M_2 + M_3)$, $b = L_1\,(L_{C2} M_2 + L_2 M_3)$, $k = J_2 + M_2 L_{C2}^2 + M_3"
    r" L_2^2$, is the inertia, BO18 (1), corrected; BO18 appendix."
)

BIAS = (
    r"$c = \begin{bmatrix} -b\,((\dot\theta_2^2 + \dot\theta_3^2) \cos\theta_3 \sin\beta + 2\,\dot\theta_2 \dot\theta_3"
    r" \sin\theta_3 \cos\beta) \\ b\,\dot\theta_1^2 \cos\theta_3 \sin\beta - 2\,k\,\dot\theta_2 \dot\theta_3 \sin\theta_3"
    r" \cos\theta_3 \\ b\,\dot\theta_1^2 \sin\theta_3 \cos\beta + k\,\dot\theta_2^2 \sin\theta_3 \cos\theta_3"
    r" \end{bmatrix}$ are the Coriolis and centripetal torques, BO18 appendix."
    "\n"
    r"The acceleration follows from $m\,\ddot\theta + c + G = \tau$, BO18 (8), where $\tau$ has the torques of the motor,"
    r" the friction and the tip force. The three arms together are $\dot q = v$, $M \dot v + C + D v + G = H^{\top}"
    r" \lambda + B u$, BO18 (14); BO18 (15), corrected: $q$ are the angles of all arms, $M$ has their $m$ on its diagonal,"
    r" $C$ and $G$ are their stacked $c$ and $G$, $D v$ is the viscous friction of the angles $\varphi$, $u$"
    r" are the motor torques, which $B$ applies to the first angles, $H = \partial h/\partial q$ of the closure $h$, and"
    r" $\lambda$ its force."
)

GRAVITY = (
    r"$V = -(\gamma_1 \sin\theta_1 + \gamma_2 \cos\theta_3 \sin\theta_2)$, BO18 (5), corrected, is the potential energy and $G ="
    r" (-\gamma_1 \cos\theta_1, -\gamma_2 \cos\theta_3 \cos\theta_2, \gamma_2 \sin\theta_3 \sin\theta_2)$, BO18 appendix,"
    r" its gradient, with $\gamma_1 = g\,(M_1 L_{C1} + L_1\,(M_2 + M_3))$, $\gamma_2 = g\,(L_{C2} M_2 + L_2 M_3)$."
)

MOMENTUM = (
    r"The three arms together obey $M v = p$, BO18 (17), and $\dot p = \tfrac{1}{2} v^{\top} \tfrac{\partial M}{\partial q}"
    r" v - G - D v + B u + H^{\top} \lambda$, BO18 (18), corrected, with $h = 0$, BO18 (19): $q$ are the angles of all"
    r" arms, $v = \dot q$, $M$ has their $m$ on its diagonal, $G$ is their stacked $G$, $D v$ is the viscous"
    r" friction of the angles $\varphi$, $u$ are the motor torques, which $B$ applies to the first angles, $H = \partial"
    r" h/\partial q$ of the closure $h$, and $\lambda$ its force."
)

TIP = (
    _ANGLES + "\n"
    r"$\psi = \begin{bmatrix} L_2 \sin\varphi_2 \sin\varphi_3 \\ L_1 \cos\varphi_1 + L_2 \cos\varphi_2 + L_0 - L_3 \\ L_1"
    r" \sin\varphi_1 + L_2 \sin\varphi_2 \cos\varphi_3 \end{bmatrix}$, BO18 (4), corrected, is the position of the tip in the"
    r" axes of its arm; here it is rotated by $R_z$ about the third axis, by $0$, $\tfrac{2}{3} \pi$ and"
    r" $-\tfrac{2}{3} \pi$ for arms 1, 2 and 3."
    "\n"
    r"The closure $h = \begin{bmatrix} \psi(q_1) - R_z(\tfrac{2}{3} \pi)\,\psi(q_2) \\ \psi(q_1) - R_z(-\tfrac{2}{3}"
    r" \pi)\,\psi(q_3) \end{bmatrix} = 0$, BO18 (10), corrected; BO18 (16), where $q_i$ are the angles of arm $i$, is enforced"
    r" by $z_2 + \alpha_1 z_1 + \alpha_0 z_0 = 0$, BO18 (23), with $z_0 = h$, BO18 (20), $z_1 = H v$, BO18 (21),"
    r" corrected, and $z_2 = \dot H v + H M^{-1} (H^{\top} \lambda + B u - C - D v - G)$, BO18 (22), corrected."
)

SLOPE = (
    _ANGLES + "\n"
    r"$\partial\psi = \begin{bmatrix} 0 & 0 & L_2 \cos\theta_3 \\ -L_1 \sin\theta_1 & -L_2 \cos\theta_3 \sin\theta_2 &"
    r" -L_2 \sin\theta_3 \cos\theta_2 \\ L_1 \cos\theta_1 & L_2 \cos\theta_3 \cos\theta_2 & -L_2 \sin\theta_3 \sin\theta_2"
    r" \end{bmatrix}$, BO18 appendix, is the derivative of the tip's position in the axes of its arm; the derivatives"
    r" of all arms, rotated like the tips, form $H = \begin{bmatrix} \partial\psi_1 & -\partial\psi_2 & 0 \\ \partial\psi_1 & 0 &"
    r" -\partial\psi_3 \end{bmatrix}$."
)
