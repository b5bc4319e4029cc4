"""One module per question; a folder beside it holds the rows and pages that it wrote."""
