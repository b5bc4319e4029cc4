"""Arc-standard's oracles, one file each: static, cubic, quadratic and linear time, tabular,
and context rows.
"""
