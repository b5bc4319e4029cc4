"""A model behind HTTP (extra ``serve``): the interface of UDPipe's REST service, and a web page.

Only app.py deals with HTTP. No request opens a file.
"""
