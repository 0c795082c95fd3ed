"""Grasps: contact points, normals and links in; forces, postures and margins out."""
