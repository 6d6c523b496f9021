"""Rows as the kernels take them: integer codes, dense or compressed, with weights."""
