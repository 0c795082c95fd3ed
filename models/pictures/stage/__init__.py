"""The stage: a scene and a time in; a rendered still, a poster or a movie out. Needs pyvista where a picture is made."""
