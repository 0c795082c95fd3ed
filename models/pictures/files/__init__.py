"""Files of a scene for other programs: glTF for viewers, slides and Blender, MCAP and rerun recordings for robotics tools."""
