"""The commands as files; their code is in parser/commands, where `optimal-step NAME` finds it, too."""
