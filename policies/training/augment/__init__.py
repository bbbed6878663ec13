"""Changes of training frames that leave what is to be done as true as it was. One file an idea, one table of them all.

`augment.py` applies those that `tendon policy train --augment` names. Each is a function of a batch, a strength (0
changes nothing, 1 is usual) and random numbers; those that move what is seen say so by a homography a picture, so that
the pixel at which something is labelled moves with it.
"""
