"""The linear model: templates of features, hashed weights,
and the averaged perceptron that learns them online.
"""
