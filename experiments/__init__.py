"""One module per question, and beside it the folder of rows and pages that it wrote."""
