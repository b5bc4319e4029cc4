"""A model behind HTTP (extra ``serve``): the interface that clients of UDPipe speak, and a page for people.

Only app.py knows of HTTP; the others are ordinary code. No file is opened for a request.
"""
