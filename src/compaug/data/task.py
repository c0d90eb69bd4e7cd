"""What is learned: labels, how an example is put into words for a model, and the numbers that are reported.

`TASKS` names them. A task is made from the label inventory and the benchmark's prompt; where a trained model's folder
keeps the prompt, from the labels alone. It is a frozen value (its `repr` names a checkpoint) with

    labels                          the inventory, `records.Labels`
    metrics                         {metric: name in tables}, in the order of the tables
    source(label_set) -> str        what a generator reads: the request in words
    target(example) -> str          what it writes
    phrase(label_set) -> str        the labels alone, in words
    facts() -> dict                 what a model folder keeps of the task
    of_model(facts, folder) -> task     the task that a model was trained for; InputError when it was another one

Generators and classifiers are given a task and never ask which one it is: another task is another file and another
line here.
"""

from collections.abc import Callable

from compaug.data import multi_label

TASKS: dict[str, Callable] = {"multi_label": multi_label.Task}
