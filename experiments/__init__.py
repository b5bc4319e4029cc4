"""One module per question. results/ holds the rows and pages that the modules wrote."""
