"""Models and draws of other packages as a target and a sample, one package a file.

Every file does the same in the same order. It asks the model which parameters are free and how each is transformed to
an unconstrained space (`Parameter`), takes from the model its log density there, log |J| of the transforms included,
with that density's gradient, and hands these to a `Model`. `Model.bind` then reads draws by the parameters' names,
transforms them as the model does, and compares the score with finite differences at some of them.
"""
