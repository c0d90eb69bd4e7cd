"""Classifiers: one file per model behind one contract.

train(examples, labels, settings, backbone, out_dir, seed, description) -> history    writes a model folder
predict(model_dir, texts, batch_size) -> probabilities                                # [n, n_labels]
"""

from types import ModuleType

from compaug.classifiers import bert

CLASSIFIERS: dict[str, ModuleType] = {"bert": bert}
