"""The predictions of an encoder about words, a file each; task.py has the interface of tasks."""

from parser.data.tasks.heads import HeadTask
from parser.data.tasks.lemmas import LemmaTask
from parser.data.tasks.tags import TagTask
from parser.data.tasks.task import Task

TASKS: list[type[Task]] = [TagTask, HeadTask, LemmaTask]
"""All tasks, in the order of their parameters;
those that are learned after the parser come last.
"""
